# help.awk: prints the targets of the makefiles that carry a `## sentence`, under their `##@ heading`.
/^##@ / { printf "\n%s\n", substr($0, 5) }
/^[a-z][a-z-]*:.*## / {
  name = $0; sub(/:.*/, "", name)
  text = $0; sub(/.*## /, "", text)
  printf "  make %-20s %s\n", name, text
}

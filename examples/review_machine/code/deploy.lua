function deploy(host)
  os.execute("scp build.tar " .. host .. ":/srv") -- FIXME quote the host
end

-- forge.lua: a record with a right checksum that skillrt did not write, at the end of a run's journal.
--
-- forge(path, json) puts it in the place of the record that closes the journal.

local function crc32c(text)
  local crc = 0xffffffff
  for i = 1, #text do
    crc = crc ~ text:byte(i)
    for _ = 1, 8 do
      crc = crc & 1 == 1 and (crc >> 1) ~ 0x82f63b78 or crc >> 1
    end
  end
  return crc ~ 0xffffffff
end

return function(path, payload)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  local before, front = text:match '^(.*\n)J1 %x+( %x+ %x+ 1 %x+ )%x+ {"t":"journal","closed":true[^\n]*}\n'
  assert(front, "the journal is not closed")
  local covered = ("%s%08x %s\n"):format(front, #payload, payload)
  file = assert(io.open(path, "wb"))
  file:write(before, ("J1 %08x"):format(crc32c(covered)), covered)
  file:close()
end

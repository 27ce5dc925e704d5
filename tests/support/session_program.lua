-- session_program.lua: a program that stays and answers: what the tests of sessions talk to.
--
-- lua session_program.lua [framed|lines] [FILE]: each message is an object; its "do" says what comes
-- of it. At the end of its input it writes FILE.

local framed, told = arg[1] == "framed", arg[2]

local function send(text)
  if framed then
    io.write("Content-Length: ", #text, "\r\nX-More: yes\r\n\r\n", text)
  else
    io.write(text, "\n")
  end
  io.flush()
end

local function receive()
  if not framed then
    return io.read "l"
  end
  local length
  for line in io.lines() do
    length = tonumber(line:match "^Content%-Length: (%d+)\r$") or length
    if line == "\r" then
      return io.read(length)
    end
  end
end

local count, held = 0, nil
local acts = {
  echo = function(id, message) send(('{"id":%s,"count":%d,"length":%d}'):format(id, count, #message)) end,
  hold = function(id) held = id end,
  free = function(id)
    send(('{"id":%s,"second":true}'):format(id))
    os.execute "sleep 0.05" -- so that it is recorded by itself
    send(('{"id":%s,"first":true}'):format(held))
  end,
  note = function(id)
    send '{"note":1}'
    send(('{"id":%s,"method":"ask"}'):format(id)) -- its own question, by chance with our id
    send(('{"id":%s,"noted":true}'):format(id))
  end,
  flood = function(id)
    for i = 1, 1010 do send(('{"note":%d}'):format(i)) end
    send(('{"id":%s,"noted":true}'):format(id))
  end,
  die = function()
    io.stderr:write(("x"):rep(100000), "trouble")
    os.exit(3)
  end,
  rubbish = function()
    io.write "what?\n\n"
    io.flush()
  end,
  big = function(id) send(('{"id":%s,"text":"%s"}'):format(id, ("y"):rep(300000))) end,
  silent = function() end,
  wonder = function(id)
    send(('{"id":%s,"asked":true}'):format(id))
    send '{"id":"q","method":"ask"}' -- when nobody waits
  end,
  bye = function() os.exit(0) end,
  leave = function(id)
    send(('{"id":%s,"count":%d}'):format(id, count))
    io.stderr:write "left\n"
    os.exit(4)
  end,
  fall = function(id)
    send(('{"id":%s,"count":%d}'):format(id, count))
    os.execute "kill -KILL $PPID"
  end,
  once = function(id) -- another program has nothing to say to it
    local path = os.getenv "ONCE"
    if io.open(path) then
      os.exit(5)
    end
    assert(io.open(path, "w")):close()
    send(('{"id":%s,"count":%d}'):format(id, count))
  end,
}

for message in receive do
  count = count + 1
  acts[message:match '"do":"(%a+)"'](message:match '"id":([^,}]+)', message)
end
if told then
  local file = assert(io.open(told, "w"))
  file:write("ended after " .. count)
  file:close()
end
if arg[3] == "stubborn" then
  os.execute "trap '' TERM; sleep 30"
end

-- Requests of one policy that came at the same time, decided one after another, at
-- one instant where the server's clock decides. The script of the algorithm comes in
-- front of this as the function decide, which sees its own KEYS and ARGV; see Batch
-- in scripts.go.
--
-- KEYS     the key of each request
-- ARGV     window_us, max, ttl_floor_ms, and for each request: now_us|"", cost,
--          nonce|"" (peek)
-- Reply    for each request what the algorithm replies, or {text} of its error: what
--          one ends with is nothing to the others

local replies = {}
local server_now

local function instant(given)
  if given ~= '' then
    return given
  end
  if not server_now then
    local time = redis.call('TIME')
    server_now = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))
  end
  return server_now
end

for i = 1, #KEYS do
  local at = 3 * i + 1
  local args = { instant(ARGV[at]), ARGV[1], ARGV[2], ARGV[at + 1], ARGV[at + 2], ARGV[3] }
  local ok, reply = pcall(decide, { KEYS[i] }, args)
  local err = type(reply) == 'table' and reply.err
  if not ok and not err then
    err = tostring(reply) -- servers differ in whether an error is a table or text
  end
  replies[i] = err and { err } or type(reply) == 'table' and reply or {} -- which is no decision
end
return replies

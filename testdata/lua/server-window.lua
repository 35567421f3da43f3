-- rlbench:
-- version: 1
-- description: a window that begins with its first request, on the server's clock
-- clock: server
-- keys: ["rl:{id}"]
-- args: [limit, window_ms]
-- reply: {count: 1, retry_after_ms: 2, reset_after_ms: 3, now_us: 4}

-- The time to live is the window, so nothing else has to be kept. It claims no
-- model: a fixed window begins at a multiple of its length, this one does not.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used >= tonumber(ARGV[1]) then
  local left = redis.call('PTTL', KEYS[1])
  if left == -1 then -- it was lost
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return { used + 1, left, left, now }
end
used = redis.call('INCR', KEYS[1])
if used == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return { used, 0, redis.call('PTTL', KEYS[1]), now }

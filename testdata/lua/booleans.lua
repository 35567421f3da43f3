-- rlbench:
-- version: 1
-- description: a fixed window that answers true or false
-- model: fixed
-- keys: ["rl:{{id}}:{window_start_ms}"]
-- args: [limit, ttl_s]
-- reply: {allowed: self, nil: denied}

-- Redis turns true into 1, and false into nil.
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used >= tonumber(ARGV[1]) then
  return false
end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return true

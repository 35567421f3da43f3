-- rlbench:
-- version: 1
-- description: a count for each window of the caller's clock; denials count too
-- model: fixed
-- keys: ["rl:{id}:{window_index}"]
-- args: [window_s]
-- reply: {count: self}

-- A caller whose clock is behind counts in its own window, not in the newest.
local used = redis.call('INCR', KEYS[1])
if used == 1 then
  redis.call('EXPIRE', KEYS[1], ARGV[1])
end
return used

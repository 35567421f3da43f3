-- One counter for each window, which is part of the key. The reply is how many
-- requests the window had with this one; more than the limit is a denial.
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used >= tonumber(ARGV[1]) then
  return used + 1
end
used = redis.call('INCR', KEYS[1])
if used == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return used

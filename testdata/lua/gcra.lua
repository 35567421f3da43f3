-- A bucket that leaks at a steady pace, as one instant: when it would be empty.
-- Exact in microseconds as long as the window is a multiple of the limit.
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if limit == 0 then
  return { 0, 0, -1, 0 }
end
local interval = window / limit
local empty = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0'))
local after = empty + interval

if after - now > window then
  if redis.call('PTTL', KEYS[1]) == -1 then -- it was lost
    redis.call('PEXPIRE', KEYS[1], math.ceil((empty - now) / 1000) + 1000)
  end
  return { 0, 0, math.ceil(after - window - now), math.ceil(empty - now) }
end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000) + 1000)
return { 1, math.floor((window - (after - now)) / interval), 0, math.ceil(after - now) }

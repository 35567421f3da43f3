-- Fixed window: count what was admitted since the last multiple of the window.
-- Constant memory, one string. Admits up to 2 x max around an edge.
--
-- KEYS     the identity's key, holding "<window index> <used>"; and, if it has
--          another name, the key of that, which is only read
-- ARGV     now_us|"", window_us, max, cost, nonce|"" (peek), ttl_floor_ms
-- Reply    {allowed, remaining, retry_after_us, reset_after_us, now_us}
-- The whole convention is in scripts.go.

local key = KEYS[1]
local window = tonumber(ARGV[2])
local max = tonumber(ARGV[3])
local cost = tonumber(ARGV[4])
local peek = ARGV[5] == ''

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local index = math.floor(now / window)
local own, used = 0, 0
for name = 1, #KEYS do
  local value = redis.call('GET', KEYS[name])
  if value then
    local i, u = string.match(value, '^(%d+) (%d+)$')
    if not i then
      return redis.error_reply('ERR the key holds no fixed window')
    end
    i, u = tonumber(i), tonumber(u)
    -- A caller whose clock is behind counts in the newest window, not in its own.
    if i > index then
      index, own, used = i, 0, 0
    end
    if i == index then
      used = used + u
      if name == 1 then
        own = u
      end
    end
  end
end

local window_end = (index + 1) * window
-- The start of a newer window stands in for a clock that is behind it.
local ttl = math.ceil((window_end - math.max(now, index * window)) / 1000) + 1000
ttl = string.format('%.0f', math.max(ttl, tonumber(ARGV[6])))

local allowed = used + cost <= max
if allowed then
  own, used = own + cost, used + cost
  if not peek then
    redis.call('SET', key, string.format('%.0f %.0f', index, own), 'PX', ttl)
  end
elseif not peek and redis.call('PTTL', key) == -1 then
  redis.call('PEXPIRE', key, ttl)
end

local retry_after = 0
if cost > max then
  retry_after = -1
elseif not allowed then
  retry_after = window_end - now
end

local reset_after = 0
if used > 0 then
  reset_after = window_end - now
end

return { allowed and 1 or 0, math.max(max - used, 0), retry_after, reset_after, now }

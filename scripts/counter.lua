-- Sliding window counter: this window's count plus the share of the previous
-- window's that a trailing window would still overlap. Constant memory, one
-- string. An estimate: bursts at both ends of a trailing window reach 2 x max.
--
-- Strict, it rounds that share up, not down. Then the estimate, fractions and all,
-- never exceeds max, and nothing is admitted on the strength of half a unit.
--
-- KEYS     the identity's key, holding "<window index> <current> <previous>";
--          and, if it has another name, the key of that, which is only read
-- ARGV     now_us|"", window_us, max, cost, nonce|"" (peek), ttl_floor_ms
-- Reply    {allowed, remaining, retry_after_us, reset_after_us, now_us}
-- The whole convention is in scripts.go.

local strict = false

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
local stored = {}
for name = 1, #KEYS do
  local value = redis.call('GET', KEYS[name])
  if value then
    local i, c, p = string.match(value, '^(%d+) (%d+) (%d+)$')
    if not i then
      return redis.error_reply('ERR the key holds no sliding window counter')
    end
    stored[name] = { tonumber(i), tonumber(c), tonumber(p) }
    -- A caller whose clock is behind counts in the newest window, not in its own.
    index = math.max(index, tonumber(i))
  end
end

-- What a name holds of this window and of the one before.
local function counts(name)
  local s = stored[name]
  if s and s[1] == index then
    return s[2], s[3]
  elseif s and s[1] == index - 1 then
    return 0, s[2]
  end
  return 0, 0
end

local own_current, own_previous = counts(1)
local also_current, also_previous = counts(2)
local current, previous = own_current + also_current, own_previous + also_previous

local start = index * window
local elapsed = math.max(now, start) - start
local ttl = math.ceil((2 * window - elapsed) / 1000) + 1000
ttl = string.format('%.0f', math.max(ttl, tonumber(ARGV[6])))

-- previous * (1 - elapsed/window), rounded, without a fraction on the way.
local carried = math.floor(previous * (window - elapsed) / window)
if strict then
  carried = math.ceil(previous * (window - elapsed) / window)
end
local allowed = current + carried + cost <= max
if allowed then
  own_current, current = own_current + cost, current + cost
  if not peek then
    redis.call('SET', key, string.format('%.0f %.0f %.0f', index, own_current, own_previous), 'PX', ttl)
  end
elseif not peek and redis.call('PTTL', key) == -1 then
  redis.call('PEXPIRE', key, ttl)
end

-- First instant of a window at which the count before it has faded to at most
-- room: the smallest e with floor(count * (window - e) / window) <= room, or, when
-- strict, with ceil.
local function faded(count, room)
  if count <= room then
    return 0
  elseif strict then
    return math.ceil(window * (count - room) / count)
  end
  return math.floor(window * (count - room - 1) / count) + 1
end

local retry_after = 0
if cost > max then
  retry_after = -1
elseif not allowed then
  local room = max - cost - current
  if room >= 0 then
    retry_after = start + faded(previous, room) - now
  else
    retry_after = start + window + faded(current, max - cost) - now
  end
end

local reset_after = 0
if current > 0 then
  reset_after = start + window + faded(current, 0) - now
elseif carried > 0 then
  reset_after = start + faded(previous, 0) - now
end

return { allowed and 1 or 0, math.max(max - current - carried, 0), retry_after, reset_after, now }

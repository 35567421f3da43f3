-- Sliding window log: remember when each admitted unit came. Exact: no trailing
-- window ever holds more than max. Memory grows with what was admitted.
--
-- KEYS     the identity's key, a sorted set: member = nonce, score = microseconds;
--          and, if it has another name, the key of that, which is only read
-- ARGV     now_us|"", window_us, max, cost, nonce|"" (peek), ttl_floor_ms
-- Reply    {allowed, remaining, retry_after_us, reset_after_us, now_us}
-- The whole convention is in scripts.go.

local key = KEYS[1]
local window = tonumber(ARGV[2])
local max = tonumber(ARGV[3])
local cost = tonumber(ARGV[4])
local nonce = ARGV[5]
local peek = nonce == ''

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- Entries exactly one window old have left, hence the open lower end. Entries
-- of a caller whose clock is ahead count too.
local oldest_live = string.format('%.0f', now - window)
local held = {}
for name = 1, #KEYS do
  held[name] = redis.call('ZCOUNT', KEYS[name], '(' .. oldest_live, '+inf')
end
local live = held[1] + (held[2] or 0)

-- Score of a name's entry at this place, counted from the newest (1).
local function score_of(name, place)
  return tonumber(redis.call('ZRANGE', KEYS[name], -place, -place, 'WITHSCORES')[2])
end

-- The same of both names together: how many of the newest are of the first is
-- found by halving.
local function score_from_newest(place)
  if not held[2] or held[2] == 0 then
    return score_of(1, place)
  end
  local low, high = math.max(0, place - held[2]), math.min(place, held[1])
  while low < high do
    local first = math.floor((low + high) / 2)
    if score_of(1, first + 1) > score_of(2, place - first) then
      low = first + 1
    else
      high = first
    end
  end
  local score = math.huge
  if low > 0 then
    score = score_of(1, low)
  end
  if low < place then
    score = math.min(score, score_of(2, place - low))
  end
  return score
end

local newest = 0
if live > 0 then
  newest = score_from_newest(1)
end

local ttl = math.ceil(window / 1000) + 1000
ttl = string.format('%.0f', math.max(ttl, tonumber(ARGV[6])))

local allowed = live + cost <= max
-- Redis serves nobody else meanwhile: 10000 members take some 25 ms.
if allowed and cost > 10000 then
  return redis.error_reply('ERR a log admits at most 10000 units at once')
end
if allowed then
  if cost > 0 then
    newest = math.max(newest, now)
  end
  if not peek then
    -- One member for each unit, in slices that fit Lua's stack. ZADD comes
    -- first because Redis refuses it when out of memory.
    local score = string.format('%.0f', now)
    local first = 1
    while first <= cost do
      local pairs_of = {}
      for unit = first, math.min(first + 999, cost) do
        pairs_of[#pairs_of + 1] = score
        pairs_of[#pairs_of + 1] = unit == 1 and nonce or nonce .. ':' .. string.format('%.0f', unit)
      end
      redis.call('ZADD', key, (table.unpack or unpack)(pairs_of))
      first = first + 1000
    end
    redis.call('ZREMRANGEBYSCORE', key, '-inf', oldest_live)
    redis.call('PEXPIRE', key, ttl)
  end
  live = live + cost
elseif not peek and redis.call('PTTL', key) == -1 then
  redis.call('PEXPIRE', key, ttl)
end

local retry_after = 0
if cost > max then
  retry_after = -1
elseif not allowed then
  -- Room for cost appears when only max - cost entries are newer.
  retry_after = score_from_newest(max - cost + 1) + window - now
end

local reset_after = 0
if live > 0 then
  reset_after = newest + window - now
end

return { allowed and 1 or 0, math.max(max - live, 0), retry_after, reset_after, now }

-- Several budgets at once: all are charged, or none. The scripts of the
-- algorithms come in front of this, each as a function of the table algorithms
-- that sees its own KEYS and ARGV; see Several in scripts.go.
--
-- KEYS     for each budget its key, and its other name's key if it has one
-- ARGV     now_us|"", nonce|"" (peek), ttl_floor_ms, and for each budget:
--          algorithm, names (1 or 2), window_us, max, cost, shadow (0 or 1)
-- Reply    now_us, and for each budget {allowed, remaining, retry_after_us,
--          reset_after_us}

local now, nonce, ttl_floor = ARGV[1], ARGV[2], ARGV[3]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))
end

local budgets = {}
local key = 1
for i = 4, #ARGV, 6 do
  local keys = { KEYS[key] }
  if ARGV[i + 1] == '2' then
    keys[2] = KEYS[key + 1]
  end
  key = key + #keys
  budgets[#budgets + 1] = {
    decide = algorithms[ARGV[i]], keys = keys, window = ARGV[i + 2], max = ARGV[i + 3], cost = ARGV[i + 4],
    shadow = ARGV[i + 5] == '1',
  }
end

local function ask(b, cost, name)
  return b.decide(b.keys, { now, b.window, b.max, cost, name, ttl_floor })
end

-- First only look. What can go wrong goes wrong here, before anything is written.
local denied = false
for _, b in ipairs(budgets) do
  b.reply = ask(b, b.cost, '')
  if b.reply.err then
    return b.reply
  end
  denied = denied or b.reply[1] == 0 and not b.shadow
end

local replies = { tonumber(now) }
for _, b in ipairs(budgets) do
  if denied and b.reply[1] == 1 then
    -- Would admit and is not charged: tell what it has.
    local left = ask(b, '0', '')
    b.reply = { 1, left[2], 0, left[4] }
  elseif nonce ~= '' then
    b.reply = ask(b, b.cost, nonce)
  end
  replies[#replies + 1] = { b.reply[1], b.reply[2], b.reply[3], b.reply[4] }
end
return replies

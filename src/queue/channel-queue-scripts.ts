/**
 * The scripts of the channel queues. KEYS: the set of channels with queued sends, then two keys per channel: its queue and
 * its tail (ADD_SENDS) or its rate (TAKE_SENDS). The clock is that of Redis.
 */

/**
 * ARGV: milliseconds between two slots, capacity of a queue, milliseconds that a turn is early; then for each channel its
 * member in the set, the numbers of its due and of all its sends, and of each send its score and id. Due sends, whose
 * later turn has come, get twice the capacity; fresh ones get none while the tail, the last turn given away, is further
 * ahead. Returns for each channel the milliseconds until the first turn, and the ids of the sends that wait for one.
 */
export const ADD_SENDS = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local interval, capacity, early = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  local answers, at = {}, 4
  for key = 2, #KEYS, 2 do
    local queue, tail_key = KEYS[key], KEYS[key + 1]
    local due, count = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local length = redis.call("zcard", queue)
    local tail = tonumber(redis.call("get", tail_key) or "0")
    local answer = { "0" }
    for i = 1, count do
      local score, id = ARGV[at + 1 + 2 * i], ARGV[at + 2 + 2 * i]
      local room = i <= due and 2 * capacity or (tail > now + early and 0 or capacity)
      if length < room then
        length = length + redis.call("zadd", queue, "nx", score, id)
      elseif not redis.call("zscore", queue, id) then
        answer[#answer + 1] = id
      end
    end
    if length > 0 then redis.call("sadd", KEYS[1], ARGV[at]) end
    if #answer > 1 then
      local start = math.max(tail, now + length * interval)
      local last = start + (#answer - 1) * interval
      redis.call("set", tail_key, string.format("%.3f", last), "px", math.ceil(last - now) + 1000)
      answer[1] = string.format("%.3f", start - now)
    end
    answers[#answers + 1] = answer
    at = at + 3 + 2 * count
  end
  return answers`;

/**
 * A channel's rate is a token bucket of one second's slots, stored as the time at which it is full again.
 * ARGV: milliseconds between two slots, milliseconds ahead; then for each channel its member in the set and how many sends
 * to take. Returns for each channel the milliseconds until its bucket was full, those until the next slot can be taken,
 * the number of sends left, and the ids of those taken, each with its score.
 */
export const TAKE_SENDS = `
  local time = redis.call("time")
  local now = time[1] * 1000 + time[2] / 1000
  local interval, ahead, second = tonumber(ARGV[1]), tonumber(ARGV[2]), 1000
  local answers = {}
  for key = 2, #KEYS, 2 do
    local queue, rate_key = KEYS[key], KEYS[key + 1]
    local full = math.max(tonumber(redis.call("get", rate_key) or "0"), now)
    local room = math.floor((now + ahead + second - full) / interval)
    local wanted = math.max(0, math.min(tonumber(ARGV[key + 2]), room))
    local taken = wanted > 0 and redis.call("zpopmin", queue, wanted) or {}
    local before = full
    full = full + #taken / 2 * interval
    if #taken > 0 then
      redis.call("set", rate_key, string.format("%.3f", full), "px", math.ceil(full - now) + second)
    end
    local left = redis.call("zcard", queue)
    if left == 0 then redis.call("srem", KEYS[1], ARGV[key + 1]) end
    local next = math.max(0, full + interval - second - ahead - now)
    answers[#answers + 1] = { string.format("%.3f", before - now), string.format("%.3f", next), left, taken }
  end
  return answers`;

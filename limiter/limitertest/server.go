package limitertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// known says whether the kit can look at all keys through such a client.
func known(client redis.UniversalClient) bool {
	switch client.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
		return true
	}
	return false
}

// scan lists the keys that match a glob pattern, sorted, on all shards.
func scan(ctx context.Context, client redis.UniversalClient, pattern string) ([]string, error) {
	var mu sync.Mutex
	found := map[string]bool{} // SCAN may repeat itself
	shard := func(ctx context.Context, c *redis.Client) error {
		keys := c.Scan(ctx, 0, pattern, 1000).Iterator()
		for keys.Next(ctx) {
			mu.Lock()
			found[keys.Val()] = true
			mu.Unlock()
		}
		return keys.Err()
	}
	var err error
	switch c := client.(type) {
	case *redis.Client:
		err = shard(ctx, c)
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, shard)
	case *redis.Ring:
		err = c.ForEachShard(ctx, shard)
	default:
		err = fmt.Errorf("cannot ask a %T", client)
	}
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// digest is everything that the keys of a policy hold, times to live aside. It
// reads values by type: DUMP differs between encodings of equal values, and
// embedded servers have none.
func digest(ctx context.Context, client redis.UniversalClient, policy string) (map[string]string, error) {
	keys, err := scan(ctx, client, "*"+policy+"*")
	if err != nil {
		return nil, err
	}
	held := map[string]string{}
	for _, key := range keys {
		if held[key], err = content(ctx, client, key); err != nil {
			return nil, fmt.Errorf("read key %.60q: %w", key, err)
		}
	}
	return held, nil
}

func content(ctx context.Context, client redis.UniversalClient, key string) (string, error) {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	var value any
	switch kind {
	case "string":
		value, err = client.Get(ctx, key).Result()
	case "zset":
		value, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
	case "hash":
		value, err = client.HGetAll(ctx, key).Result()
	case "list":
		value, err = client.LRange(ctx, key, 0, -1).Result()
	case "set":
		var members []string
		members, err = client.SMembers(ctx, key).Result()
		slices.Sort(members)
		value = members
	default:
		err = fmt.Errorf("cannot read a %s", kind)
	}
	return fmt.Sprint(kind, " ", value), err // maps print in order
}

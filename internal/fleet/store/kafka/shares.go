package kafka

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Shares is a controller's membership in the group that shares the partitions of the topic of commits,
// and with them the PoPs. It reads no message. The group says who should decide; that only
// one can is the log's matter.
type Shares struct {
	a          Address
	partitions int
	changed    func(mine func(pop string) bool)
	client     *kgo.Client

	mu   sync.Mutex // guards mine
	mine []int32
}

const (
	// deadAfter is how long a controller that was killed, or stopped, keeps its PoPs: the least that
	// brokers allow is 6 s. A window has 300 s.
	deadAfter = 10 * time.Second
	beatEvery = 2 * time.Second
)

// group is that of the controllers of a topic.
func (a Address) group() string { return a.Commits() + ".controllers" }

// JoinShares joins under a name. changed is called after each change of what is this member's; a
// PoP goes to another member only after it has returned, unless this one counts as dead.
func JoinShares(ctx context.Context, a Address, name string, changed func(mine func(pop string) bool)) (*Shares, error) {
	n, err := partitionsOf(ctx, a, a.Commits())
	if err != nil {
		return nil, err
	}
	s := &Shares{a: a, partitions: n, changed: changed}
	s.client, err = a.client(kgo.ClientID(name), kgo.ConsumerGroup(a.group()), kgo.ConsumeTopics(a.Commits()), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(deadAfter), kgo.HeartbeatInterval(beatEvery), kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.OnPartitionsAssigned(func(_ context.Context, c *kgo.Client, p map[string][]int32) {
			c.PauseFetchTopics(a.Commits())
			s.set(func(mine []int32) []int32 { return append(mine, p[a.Commits()]...) })
		}),
		kgo.OnPartitionsRevoked(s.drop), kgo.OnPartitionsLost(s.drop))
	return s, err
}

func (s *Shares) drop(_ context.Context, _ *kgo.Client, p map[string][]int32) {
	s.set(func(mine []int32) []int32 {
		return slices.DeleteFunc(mine, func(n int32) bool { return slices.Contains(p[s.a.Commits()], n) })
	})
}

func (s *Shares) set(to func([]int32) []int32) {
	s.mu.Lock()
	s.mine = to(s.mine)
	s.mu.Unlock()
	s.changed(s.Mine)
}

// Mine reports whether a PoP is this member's.
func (s *Shares) Mine(pop string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.mine, partitionOf(pop, s.partitions))
}

// Owner returns the name of the member that a PoP is; "" where the group is just changing.
func (s *Shares) Owner(ctx context.Context, pop string) (string, error) {
	ctx, done := context.WithTimeout(ctx, dialTime)
	defer done()
	groups, err := kadm.NewClient(s.client).DescribeGroups(ctx, s.a.group())
	if err != nil {
		return "", fmt.Errorf("ask Kafka for the controller of pop %s: %w", pop, err)
	}
	at := partitionOf(pop, s.partitions)
	for _, m := range groups[s.a.group()].Members {
		if c, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range c.Topics {
				if t.Topic == s.a.Commits() && slices.Contains(t.Partitions, at) {
					return m.ClientID, nil
				}
			}
		}
	}
	return "", nil
}

// Close leaves the group, so that others need not wait. It calls changed for what was this member's.
func (s *Shares) Close() { s.client.Close() }

// partitionsOf returns how many partitions a topic has.
func partitionsOf(ctx context.Context, a Address, topic string) (int, error) {
	list, err := a.list(ctx, topic)
	return len(list[topic].Partitions), err
}

package kafka_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/rota-run/rota/internal/proof/must"
)

// Members come and go while records are produced: each record is taken once, since all of them leave gracefully.
func TestEachRecordIsTakenOnce(t *testing.T) {
	b := setup(t, 4, "orders", "payments")
	all := []int32{0, 1, 2, 3}
	b.produce("orders", 0, 100, all...)
	first := b.join("a", b.loop())
	b.submit(first, b.config(), "orders", "payments")
	b.awaitTaken("orders", 100, all...)
	second := b.join("b", b.loop())
	b.await("the work is shared", func() bool {
		n := map[string]int{}
		for _, by := range b.owners(first) {
			n[by]++
		}
		return n["a"] > 3 && n["b"] > 3
	})
	b.produce("orders", 100, 100, all...)
	b.produce("payments", 0, 50, all...)
	must.Succeed(t, first.Leave(b.ctx))
	b.produce("orders", 200, 100, all...)
	b.awaitTaken("orders", 300, all...)
	b.awaitTaken("payments", 50, all...)
	b.once()
	if len(b.owners(second)) != 10 { // 8 partitions, 2 that look for more
		t.Errorf("the owners are %v", b.owners(second))
	}
}

// New partitions are found, more than once, and consumed from their first record, though the rest of the topic is from
// its end.
func TestTopicsGrow(t *testing.T) {
	b := setup(t, 1, "orders")
	b.produce("orders", 1000, 5, 0) // before the task: not wanted
	m := b.join("a", b.loop())
	c := b.config()
	c.From = "end"
	b.submit(m, c, "orders")
	b.await("partition 0 has its start",
		func() bool { return b.owners(m)["orders/0"] == "a" && b.owners(m)["orders@1"] == "a" })
	admin := kadm.NewClient(b.client)
	for _, n := range []int{3, 4} {
		must.Succeed(t, must.Err(admin.UpdatePartitions(b.ctx, n, "orders")))
		b.client.PurgeTopicsFromProducing("orders") // it does not know the new ones yet
		last := int32(n - 1)
		b.produce("orders", 0, 10, last)
		b.awaitTaken("orders", 10, last)
	}
	b.once()
	if got := len(b.order["orders/0"]); got != 0 {
		t.Errorf("%d old records were taken", got)
	}
}

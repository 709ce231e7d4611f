package cli_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// The demonstration keeps its promises on a fake of a broker too, which needs nothing but this process.
func TestDemoOnAFakeBroker(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"replica", "sync"} {
		t.Run(protocol, func(t *testing.T) {
			p := newPlace(t)
			p.demo("--store", fakeBroker(t), "--protocol", protocol)
		})
	}
}

// fakeBroker is a place on a broker inside this process.
func fakeBroker(t *testing.T) string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return "kafka://" + c.ListenAddrs()[0] + "/weather"
}

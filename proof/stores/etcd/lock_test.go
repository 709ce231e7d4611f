package etcd_test

import (
	. "github.com/rota-run/rota/store/etcd"
	"testing"

	"github.com/rota-run/rota/lock/locktest"
)

func TestLocks(t *testing.T) { t.Parallel(); locktest.Run(t, fresh) }

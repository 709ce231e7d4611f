package file_test

import (
	"testing"

	"github.com/rota-run/rota/lock/locktest"
)

func TestLocks(t *testing.T) { t.Parallel(); locktest.Run(t, fresh) }

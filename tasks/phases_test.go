package tasks

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The parts of redirects are added up, and one that began twice began with the first.
func TestPhasesAddUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p phases
		for range 2 {
			p.begin("connect")
			time.Sleep(time.Second)
			p.begin("connect")
			time.Sleep(time.Second)
			p.end("connect")
		}
		p.end("tls") // never began
		p.begin("dns")
		p.began = nil
		p.begin("connect")
		time.Sleep(time.Second)
		p.trace().ConnectDone("tcp", "", errors.New("refused")) // another address may still be reached
		if got := p.durations(); len(got) != 1 || got["connect"] != 4*time.Second {
			t.Errorf("got %v, want connect 4s", got)
		}
	})
}

package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/file"
)

func TestUnknownProtocols(t *testing.T) {
	p := newPlace(t)
	for _, command := range []string{"run --store file:store --listen none tasks", "demo"} {
		_, errs, code := p.rota(strings.Fields(command + " --protocol raft")...)
		if code != exitUsage || !strings.Contains(errs, `unknown protocol "raft": must be one of replica`) || !strings.Contains(errs, "try: --protocol replica") {
			t.Errorf("rota %s: exit %d\n%s", command, code, errs)
		}
	}
}

// The cluster of a newer rota, by a protocol that this one does not have, is neither read as something else nor joined.
func TestAPlaceOfAnotherProtocol(t *testing.T) {
	p := newPlace(t)
	s, err := file.Open(t.Context(), filepath.Join(p.dir, "store"), file.Options{})
	must.Succeed(t, err)
	must.Succeed(t, protocol.Claim(t.Context(), s, protocol.Place{Protocol: "paxos"}))
	must.Succeed(t, s.Close())
	for _, command := range []string{"status", "member list", "member drain a", "log list", "run --listen none tasks"} {
		_, errs, code := p.rota(append(strings.Fields(command), "--store", "file:store")...)
		if code != exitFailed || !strings.Contains(errs, `the protocol "paxos", which this version does not have`) || !strings.Contains(errs, "try: a newer rota") {
			t.Errorf("rota %s: exit %d\n%s", command, code, errs)
		}
	}
}

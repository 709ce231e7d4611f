package nats_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// TestRightsGoAndComeBack takes from a user who has a store open first the right to write, and then the password. Both
// errors say so, and the handle can be used again when the user has both back.
func TestRightsGoAndComeBack(t *testing.T) {
	t.Parallel()
	o := &server.Options{JetStream: true, SyncAlways: true, Users: []*server.User{user("u", firstMay)}}
	n, url := bareServer(t, o)
	s := openWith(t, nats.Options{URLs: []string{url}, User: "u", Password: "p", Timeout: rig.Patience})
	reload := func(u *server.User) {
		changed := *o
		changed.Users = []*server.User{u}
		must.Succeed(t, n.ReloadOptions(&changed))
	}
	try := func() error { return must.Err(s.Append(context.Background(), nil)) }

	reload(user("u", observerMay))
	rig.Eventually(t, "an append says that the user may not write", func() bool {
		err := try()
		return errors.Is(err, store.ErrUnknown) && strings.Contains(err.Error(), `Publish to "rota.rota.log"`)
	})
	other := user("u", firstMay)
	other.Password = "q"
	dials := func() uint64 { return must.Get(n.Varz(nil))(t).TotalConnections }
	before := dials()
	reload(other)
	rig.Eventually(t, "an append says that the password is wrong", func() bool {
		err := try()
		return errors.Is(err, store.ErrUnavailable) && strings.Contains(err.Error(), "authorization violation")
	})
	rig.Eventually(t, "the client tries three times", func() bool { return dials() >= before+3 })
	reload(user("u", firstMay))
	rig.Eventually(t, "the handle can be used again", func() bool { return try() == nil })
}

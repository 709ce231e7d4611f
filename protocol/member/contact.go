package member

import "github.com/rota-run/rota/protocol/outbox"

// Contact is what the answers to its calls have told a member of its store. It is a value: each method returns the next one, and adds to the effects what
// listeners are told.
type Contact struct {
	Problem string // why the store is away; "" where it is not
	// Refuses is set while a write has failed and none has been acknowledged since. Then it says nothing that the store answers reads: on a full disk it does.
	Refuses bool
}

// Read takes in a read, or a write that was answered and not done for a good reason; err is "" where the store has answered.
func (c Contact) Read(fx []Effect, err string) (Contact, []Effect) {
	if err == "" && c.Refuses {
		return c, fx
	}
	return c.next(fx, Contact{err, c.Refuses})
}

// Wrote takes in a write; done: it was acknowledged.
func (c Contact) Wrote(fx []Effect, err string, done bool) (Contact, []Effect) {
	if err == "" && !done {
		return c.Read(fx, err)
	}
	return c.next(fx, Contact{err, err != ""})
}

// Appended takes in an append. That an entry is too large says nothing of the store.
func (c Contact) Appended(fx []Effect, ev Appended) (Contact, []Effect) {
	if ev.Outcome == outbox.Refused {
		return c.Read(fx, "")
	}
	return c.Wrote(fx, ev.Err, ev.Outcome == outbox.Done)
}

func (c Contact) next(fx []Effect, next Contact) (Contact, []Effect) {
	if (next.Problem == "") != (c.Problem == "") {
		fx = append(fx, StoreChanged{Err: next.Problem})
	}
	return next, fx
}

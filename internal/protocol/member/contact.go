package member

import "github.com/rota-run/rota/internal/protocol/outbox"

// Contact is what the answers to its calls have told a member of its store.
type Contact struct {
	Problem string // why the store is away; "" where it is not
	// Refuses is set while a write has failed and none has been acknowledged since. Then it says nothing that the store answers reads: on a full disk it does.
	Refuses bool
}

// Answered takes in a read, or a write that was answered and not done for a good reason; err is "" where the store has answered.
func (c *Core) Answered(err string) {
	if err != "" || !c.Contact.Refuses {
		c.hear(Contact{err, c.Contact.Refuses})
	}
}

// Wrote takes in a write; done: it was acknowledged.
func (c *Core) Wrote(err string, done bool) {
	if err == "" && !done {
		c.Answered(err)
		return
	}
	c.hear(Contact{err, err != ""})
}

// Appended takes in an append. That an entry is too large says nothing of the store.
func (c *Core) Appended(ev Appended) {
	if ev.Outcome == outbox.Refused {
		c.Answered("")
		return
	}
	c.Wrote(ev.Err, ev.Outcome == outbox.Done)
}

func (c *Core) hear(next Contact) {
	if (next.Problem == "") != (c.Contact.Problem == "") {
		c.Emit(StoreChanged{Err: next.Problem})
	}
	c.Contact = next
}

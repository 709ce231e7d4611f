package command

import (
	"context"
	"errors"
	"strings"

	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/protocol/sync"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/protocol"
)

// protocols is the only table of ways to agree. The first is the default.
func protocols() []protocol.Protocol {
	return []protocol.Protocol{replica.Protocol{}, leader.Protocol{}, lease.Protocol{}, sync.Protocol{}}
}

func protocolNames() string { return strings.Join(protocolList(), ", ") }

func protocolList() (names []string) {
	for _, p := range protocols() {
		names = append(names, p.Name())
	}
	return names
}

// protocolUsage explains --protocol.
func protocolUsage() string {
	return "how the members agree: " + protocolNames() + "; default: as the cluster does already, else " +
		protocols()[0].Name()
}

// protocolNamed returns the protocol of a name; "" stands for the default.
func protocolNamed(name string) (protocol.Protocol, error) {
	for _, p := range protocols() {
		if name == "" || p.Name() == name {
			return p, nil
		}
	}
	names := protocolList()
	return nil, misused("--protocol "+nearestOr(name, names, names[0]), "unknown protocol %q: must be one of %s", name,
		protocolNames())
}

// protocolAt returns the protocol by which the members of a place agree; the default where nobody has ever joined or
// written a command.
func protocolAt(ctx context.Context, st protocol.Store) (protocol.Protocol, error) {
	at, err := protocol.At(ctx, st)
	if err != nil {
		return nil, err
	}
	p, err := protocolNamed(at.Protocol)
	if err != nil {
		return nil, failed("a newer rota",
			"the cluster uses the protocol %q, which this version does not have: it has %s", at.Protocol,
			protocolNames())
	}
	return p, nil
}

// otherProtocol says what to try where the place has another protocol.
func otherProtocol(err error) error {
	if other, ok := errors.AsType[*protocol.OtherProtocolError](err); ok {
		return failed("--protocol "+other.Has+", or another place in the store", "%w", err)
	}
	if queue, ok := errors.AsType[*protocol.OtherQueueError](err); ok {
		try := "--queue " + safetext.Word(queue.Has)
		if queue.Has == protocol.OwnQueue {
			try = "no --queue"
		}
		return failed(try+", or another place in the store", "%w", err)
	}
	return err
}

// protocolFor returns the protocol of a member or client: the one that is asked for, else that of the place.
func protocolFor(ctx context.Context, asked string, st protocol.Store) (protocol.Protocol, error) {
	if asked == "" {
		return protocolAt(ctx, st)
	}
	p, err := protocolNamed(asked)
	if err != nil {
		return nil, err
	}
	return p, p.Fits(st)
}

package nats

import (
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
)

// ErrDamaged marks data that is missing or wrong. Retrying does not help: restore the streams from a copy.
var ErrDamaged = log.ErrDamaged

// Store is one handle on a bucket, with its own connection. It is safe for concurrent use.
type Store struct{ *full.Store }

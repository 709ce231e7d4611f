package cluster

// Format is the version of the encoding of entries, snapshots and records. There is one: what has another is refused with a [FormatError].
const Format uint32 = 4

// Hash is a chain hash or digest: it detects accidents, not malice (XXH64, published by Y. Collet).
type Hash uint64

// Entry is one record of the log.
type Entry struct {
	Index  Index    // given by the log, not part of the encoded bytes
	Writer WriterID // with Seq removes duplicates: a retried append may be in the log twice
	Seq    uint64   // grows by writer; one that is not greater than the last applied one is a duplicate
	// AtMS is the writer's wall clock in milliseconds since 1970, only for people: it decides nothing.
	AtMS int64
	// BaseIndex and BaseChain are the last index and chain hash that the writer had applied when it wrote. A replica with
	// another chain hash at that index knows that the store lost or rewrote its tail.
	BaseIndex Index
	BaseChain Hash
	Commands  []Command

	data []byte // as read; set by DecodeEntry so that applying it need not encode it again
}

// Result is the outcome of one command of an entry.
type Result struct {
	Accepted bool
	Reason   string // why it did nothing; "" if accepted
}

// bytes is the entry as stored in the log.
func (e *Entry) bytes() []byte {
	if e.data != nil {
		return e.data
	}
	return e.Encode()
}

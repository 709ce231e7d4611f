package cluster

// Format is the format version of entries that a cluster begins with. A newer one holds when a [Configure] has switched it on, once all members know it.
const Format uint32 = 1

// NewestFormat is the newest format version that this code applies:
//
//	2  deaths of owners are counted: LeaveCluster.Died, Partition.Deaths
const NewestFormat uint32 = 2

// formatDeaths is the format from which on deaths of owners are counted.
const formatDeaths = 2

// Hash is a chain hash or digest: it tells accidents apart, not malice (XXH64, published by Y. Collet).
type Hash uint64

// Entry is one record of the log.
type Entry struct {
	Index  Index    // given by the log, not part of the encoded bytes
	Writer WriterID // with Seq removes duplicates: a retried append may stand twice in the log
	Seq    uint64   // grows by writer; a lower or equal one than applied before is a duplicate
	Format uint32
	// AtMS is the writer's wall clock in milliseconds since 1970, for people only: nothing is decided by it.
	AtMS int64
	// BaseIndex and BaseChain are the last index and chain hash that the writer had applied when it wrote. A replica that has
	// another chain hash at that index knows that the store lost or rewrote its tail.
	BaseIndex Index
	BaseChain Hash
	Commands  []Command

	data []byte // as read; set by DecodeEntry so that applying it need not encode it again
}

// Result is what one command of an entry did.
type Result struct {
	Accepted bool
	Reason   string // why it did nothing; "" when accepted
}

// bytes is the entry as it stands in the log.
func (e *Entry) bytes() []byte {
	if e.data != nil {
		return e.data
	}
	return e.Encode()
}

package cluster

// The tags of the protocol sync.
const (
	tagEpoch byte = iota + 56
	tagShare
	tagOwn
)

func appendEpochCommand(b []byte, c Command) []byte {
	switch c := c.(type) {
	case Epoch:
		b = appendString(appendUvarint(appendUvarint(append(b, tagEpoch), c.Start), c.Generation), c.Leader)
		return appendList(b, c.Members, appendEpochMember)
	case Share:
		return appendString(appendPartitionRef(b, tagShare, c.Partition, c.Token), c.To)
	case Own:
		b = appendVarint(appendBool(appendJoinRef(b, tagOwn, c.Member, c.Incarnation), c.Full), c.Count)
		return appendList(b, c.Partitions, appendOwned)
	}
	return append(b, 0) // no such command: whoever reads it refuses the entry
}

func appendEpochMember(b []byte, m EpochMember) []byte {
	return appendPrepareJoin(appendUvarint(b, uint64(m.Incarnation)), m.Join)
}

func decodeEpochMember(r *decoder) EpochMember {
	return EpochMember{Incarnation: r.token(), Join: r.prepareJoin()}
}

func appendOwned(b []byte, o Owned) []byte {
	return appendUvarint(appendString(b, o.Partition), uint64(o.Token))
}

func decodeOwned(r *decoder) Owned { return Owned{Partition: r.partition(), Token: r.token()} }

// epochCommand decodes the commands of the protocol sync; the tag was just read.
func (r *decoder) epochCommand() Command {
	switch r.data[r.off-1] {
	case tagEpoch:
		return Epoch{Start: r.uvarint(), Generation: r.uvarint(), Leader: r.member(), Members: decodeList(r, decodeEpochMember)}
	case tagShare:
		return Share{Partition: r.partition(), Token: r.token(), To: r.member()}
	case tagOwn:
		return Own{Member: r.member(), Incarnation: r.token(), Full: r.bool(), Count: r.varint(), Partitions: decodeList(r, decodeOwned)}
	}
	r.fail("an unknown command")
	return nil
}

func appendAnnouncement(b []byte, a Announcement) []byte {
	b = appendString(appendUvarint(appendUvarint(b, a.Start), a.Generation), a.Leader)
	return appendVarint(appendUvarint(b, uint64(a.Since)), a.SinceMS)
}

func decodeAnnouncement(r *decoder) Announcement {
	return Announcement{Start: r.uvarint(), Generation: r.uvarint(), Leader: r.member(), Since: r.token(), SinceMS: r.varint()}
}

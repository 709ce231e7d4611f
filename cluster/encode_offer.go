package cluster

// The flags of a member.
const (
	drainingFlag = 1
	revokedFlag  = 2
)

func (m *Member) flags() (b byte) {
	if m.Draining {
		b |= drainingFlag
	}
	if m.Revoked {
		b |= revokedFlag
	}
	return b
}

func appendLeadership(b []byte, l Leadership) []byte {
	b = appendUvarint(appendString(appendString(b, l.Member), l.Writer), l.Term)
	return appendVarint(appendVarint(appendUvarint(b, uint64(l.Since)), l.SinceMS), l.OfferMS)
}

func decodeLeadership(r *decoder) Leadership {
	l := Leadership{Member: r.member(), Writer: WriterID(r.string()), Term: r.uvarint(), Since: r.token(), SinceMS: r.varint(), OfferMS: r.varint()}
	if r.err == nil && l.Term == 0 {
		r.fail("a leader without a term")
	}
	return l
}

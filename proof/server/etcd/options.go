package etcd

import (
	"errors"
	"fmt"
)

// Options of [Start] and [StartCluster].
type Options struct {
	// Dir holds the data, one folder for each member. It must exist.
	Dir string
	// Nodes is the number of members; 0 stands for 1.
	Nodes int
	// NoSync leaves out all syncing to disk: faster, and right for what nobody needs after a power cut. What was written survives the end of
	// the process all the same.
	NoSync bool
	// Quota is how many bytes the database of a member may have; 0 is etcd's own default.
	Quota int64
	// TxnOps is how many operations a transaction may have; 0 is etcd's own default.
	TxnOps uint
	// CertFile and KeyFile, if given, make the members speak TLS with clients.
	CertFile, KeyFile string
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("no folder for the data: give Options.Dir")
	}
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.Nodes < 0 {
		return o, fmt.Errorf("%d members: give at least one", o.Nodes)
	}
	return o, nil
}

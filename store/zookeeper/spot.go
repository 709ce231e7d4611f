package zookeeper

import (
	"slices"

	"github.com/go-zookeeper/zk"
)

// spot is what a read looks at, and one of ZooKeeper's watches.
type spot struct {
	path     string
	children bool // the names of its children; else its data
}

// node is what a server says of a spot.
type node struct {
	data  []byte
	names []string // of the children
	stat  *zk.Stat // never changed
}

func (n node) clone() node { return node{slices.Clone(n.data), slices.Clone(n.names), n.stat} }

// ask makes the request.
func (at spot) ask(c *zk.Conn) (n node, err error) {
	if at.children {
		n.names, n.stat, err = c.Children(at.path)
		return n, err
	}
	n.data, n.stat, err = c.Get(at.path)
	return n, err
}

// arming is a spot that is armed, or is being armed.
type arming struct {
	done bool
	node node // what was found, if it is done
}

// mostKept is the most bytes of data that are looked at again while they are armed: what is watched is small, or is asked for each time.
const mostKept = 16 << 10

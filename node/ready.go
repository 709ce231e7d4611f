package node

import "fmt"

// Ready returns the reasons why this member cannot do its work now; none if it can. It may be called from any goroutine.
func (n *Node) Ready() []string {
	s := n.member.Status()
	var reasons []string
	if !s.Joined {
		reasons = append(reasons, "it has not joined the cluster")
	}
	if s.StoreError != "" {
		reasons = append(reasons, fmt.Sprintf("the store does not answer: %s", s.StoreError))
	}
	if s.Joined && s.LeaseMS == 0 {
		reasons = append(reasons, "it cannot prove that others still count on it, so its tasks are stopped")
	}
	return reasons
}

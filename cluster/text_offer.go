package cluster

import "fmt"

// String returns the command on one line.
func (c Lead) String() string { return fmt.Sprintf("lead %s term=%d", c.Member, c.Term) }

// String returns the command on one line.
func (c AcceptOffer) String() string {
	return fmt.Sprintf("accept-offer %s token=%d", c.Partition, c.Token)
}

// String returns the command on one line.
func (c RevokeOffer) String() string {
	s := fmt.Sprintf("revoke-offer %s token=%d", c.Partition, c.Token)
	if c.Declined {
		s += " declined"
	}
	return s
}

// String returns the command on one line.
func (c TakeRequest) String() string { return fmt.Sprintf("take-request %s/%d", c.Writer, c.Seq) }

// String returns the command on one line.
func (c Place) String() string { return "place " + c.Placement.String() }

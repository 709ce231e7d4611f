package cluster

import (
	"errors"
	"fmt"
)

func checkEpoch(c *Epoch) error {
	err := at("leader", CheckName(string(c.Leader)))
	if c.Start == 0 || c.Generation == 0 {
		err = errors.Join(err, errors.New("an epoch without a number"))
	}
	for i := range c.Members {
		m := &c.Members[i]
		if i > 0 && c.Members[i-1].Join.Member >= m.Join.Member {
			return errors.Join(err, errors.New("members: they are not sorted"))
		}
		err = errors.Join(err, at(fmt.Sprintf("members[%d]", i), checkPrepareJoin(&m.Join)))
	}
	if _, ok := findMember(c.Members, c.Leader); !ok {
		err = errors.Join(err, errors.New("leader: it is not a member"))
	}
	return err
}

func checkOwn(c *Own) error {
	err := at("member", CheckName(string(c.Member)))
	if len(c.Partitions) > MaxOwned {
		err = errors.Join(err, fmt.Errorf("partitions: %d, at most %d are listed", len(c.Partitions), MaxOwned))
	}
	return errors.Join(err, at("count", notNegative(c.Count)))
}

package child

import (
	"net"

	"github.com/rota-run/rota/internal/proof/port"
)

// Ports returns ports that nobody uses, nor gets before release.
func Ports(n int) (ports []int, release func(), err error) {
	addrs, release, err := port.Find(n)
	if err != nil {
		return nil, nil, err
	}
	for _, addr := range addrs {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			release()
			return nil, nil, err
		}
		ports = append(ports, at.Port)
	}
	return ports, release, nil
}

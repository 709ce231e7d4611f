package child

import (
	"fmt"
	"os"
)

// NodeVariable is the environment variable with the program that serves as the nodes of etcd and NATS, as .ci/node prints it. Without it a program starts
// itself as a node, which is slow where it is a test with the race detector: it would look for races in servers that are not ours.
const NodeVariable = "ROTA_TEST_NODE"

// Program is the file of the program that is to be a node: that of [NodeVariable], or this one.
func Program() (string, error) {
	if path := os.Getenv(NodeVariable); path != "" {
		return path, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's file: %w", err)
	}
	return self, nil
}

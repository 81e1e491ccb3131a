package lab

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// freePorts finds n free loopback ports below the kernel's ephemeral range. A port inside that range
// could be given to some outgoing connection while its server is down for a restart; a client that
// dials it then may even connect to itself.
func freePorts(n int) ([]int, error) {
	const first, last = 20000, 32000
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries == 1000 {
			return nil, fmt.Errorf("ports: no free one found from %d to %d on 127.0.0.1 in %d tries", first, last, tries)
		}
		port := first + rand.IntN(last-first)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer listener.Close() // held until all are found, so that no port comes twice
		ports = append(ports, port)
	}
	return ports, nil
}

// Package listen opens the addresses of our programs: metrics, probes and webhooks. Any pod of the cluster may be able to
// connect to them, so connections are bounded in number and in time. base/http_server.h does the same for the C++ programs.
package listen

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// MostConnections of one address at a time. When all are taken, the client address with the most connections loses
// its oldest one. So a client that opens many connections cannot keep the kubelet's probe or the API server away.
const MostConnections = 128

const (
	headersWithin = 5 * time.Second
	requestWithin = 10 * time.Second
	// A profile of /debug/pprof takes 30 s unless its request says otherwise.
	answerWithin = 90 * time.Second
	idleFor      = 90 * time.Second // longer than the usual time between two scrapes
	mostHeaders  = 64 << 10
)

// TCP listens on the address with at most that many connections.
func TCP(address string, most int) (net.Listener, error) {
	inner, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, err)
	}
	return &listener{Listener: inner, most: most}, nil
}

// Server is a server with a deadline for each part of a request.
func Server(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: headersWithin, ReadTimeout: requestWithin, WriteTimeout: answerWithin,
		IdleTimeout: idleFor, MaxHeaderBytes: mostHeaders}
}

type listener struct {
	net.Listener
	most int

	mutex sync.Mutex
	open  []*conn // in the order of arrival
}

type conn struct {
	net.Conn
	from   string // the host of its client
	listen *listener
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	from, _, err := net.SplitHostPort(inner.RemoteAddr().String())
	if err != nil {
		from = inner.RemoteAddr().String()
	}
	accepted := &conn{inner, from, l}
	l.mutex.Lock()
	var victim *conn
	if len(l.open) >= l.most {
		victim = l.oldestOfGreediest()
	}
	l.open = append(l.open, accepted)
	l.mutex.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
	return accepted, nil
}

// oldestOfGreediest is the oldest connection of the client with the most. REQUIRES: the mutex is held, and some are open.
func (l *listener) oldestOfGreediest() *conn {
	count := map[string]int{}
	most := 0
	for _, each := range l.open {
		count[each.from]++
		most = max(most, count[each.from])
	}
	for _, each := range l.open {
		if count[each.from] == most {
			return each
		}
	}
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.listen.mutex.Lock()
	for i, each := range c.listen.open {
		if each == c {
			c.listen.open = append(c.listen.open[:i], c.listen.open[i+1:]...)
			break
		}
	}
	c.listen.mutex.Unlock()
	return c.Conn.Close()
}

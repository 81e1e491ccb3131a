package listen

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serve answers "ok" with at most that many connections, and returns its address.
func serve(t *testing.T, most int) string {
	t.Helper()
	listener, err := TCP("127.0.0.1:0", most)
	if err != nil {
		t.Fatal(err)
	}
	server := Server(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// from connects as another client on the loopback network.
func from(t *testing.T, host, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}, Timeout: 5 * time.Second}
	connection, err := dialer.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func probe(t *testing.T, address string) {
	t.Helper()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); string(text) != "ok" || err != nil {
		t.Errorf("probe: %q, %v", text, err)
	}
}

func TestProbesAreAnsweredBesideAThousandIdleConnections(t *testing.T) {
	address := serve(t, MostConnections)
	for i := range 1000 {
		connection := from(t, "127.0.0.2", address)
		if i%2 == 0 {
			fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		}
		if i%100 == 99 {
			probe(t, address)
		}
	}
	open := 0
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if open = established(t, address); open <= MostConnections {
			break
		}
	}
	if open > MostConnections {
		t.Errorf("%d connections are open, expected at most %d", open, MostConnections)
	}
	probe(t, address)
}

func TestTheGreediestClientLosesItsOldestConnection(t *testing.T) {
	address := serve(t, 3)
	quiet := from(t, "127.0.0.3", address)
	greedy := []net.Conn{from(t, "127.0.0.2", address), from(t, "127.0.0.2", address), from(t, "127.0.0.2", address)}
	if _, err := read(greedy[0]); err != io.EOF {
		t.Errorf("the oldest connection of the greediest client: %v, expected its end", err)
	}
	for i, connection := range []net.Conn{quiet, greedy[1], greedy[2]} {
		fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if text, err := read(connection); err != nil || text[:8] != "HTTP/1.1" {
			t.Errorf("connection %d: %q, %v", i, text, err)
		}
	}
}

func read(connection net.Conn) (string, error) {
	_ = connection.SetReadDeadline(time.Now().Add(5 * time.Second))
	buffer := make([]byte, 1024)
	count, err := connection.Read(buffer)
	return string(buffer[:count]), err
}

func TestEachPartOfARequestHasADeadlineAndASize(t *testing.T) {
	server := Server(http.NotFoundHandler())
	for name, limit := range map[string]time.Duration{"headers": server.ReadHeaderTimeout, "request": server.ReadTimeout,
		"answer": server.WriteTimeout, "idle": server.IdleTimeout} {
		if limit <= 0 || limit > 2*time.Minute {
			t.Errorf("%s: %v", name, limit)
		}
	}
	address := serve(t, 2)
	connection := from(t, "127.0.0.2", address)
	fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: x\r\n")
	for range 200 {
		fmt.Fprintf(connection, "X-Long: %01000d\r\n", 0)
	}
	if text, _ := read(connection); len(text) < 12 || text[9:12] != "431" {
		t.Errorf("200 KB of headers: %q, expected 431", text)
	}
}

// established counts the sockets of the address that have a connection.
func established(t *testing.T, address string) (count int) {
	t.Helper()
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	local := fmt.Sprintf(":%04X ", number)
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasSuffix(fields[1]+" ", local) && fields[3] == "01" {
			count++
		}
	}
	return count
}

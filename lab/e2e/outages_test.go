package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// Each test hangs, slows or sets back one part of the system for a while. When the fault ends, the system recovers by
// itself within a minute: no job is lost, and no GPU is given twice.

// recoverWithin is how long that may take, and outage how long most faults are.
const recoverWithin, outage = time.Minute, 8 * time.Second

// uids of the pods of a Job.
func uids(t *testing.T, c *e2e.Cluster, namespace, job string) map[types.UID]bool {
	t.Helper()
	found := map[types.UID]bool{}
	for _, pod := range given[[]core.Pod](t)(c.Pods(t.Context(), namespace, job)) {
		found[pod.UID] = true
	}
	return found
}

// runs waits for the Job as long as the context allows, which is longer than e2e.Patience.
func runs(t *testing.T, ctx context.Context, c *e2e.Cluster, namespace, job string) {
	t.Helper()
	err := c.JobReaches(ctx, namespace, job, batch.Running)
	for err != nil && ctx.Err() == nil {
		err = c.JobReaches(ctx, namespace, job, batch.Running)
	}
	ok(t, err)
}

// survives submits a Job before and one during the fault, which lasts until it returns. Afterwards both run, the first by
// the same pods, and a third starts.
func survives(t *testing.T, c *e2e.Cluster, ns string, fault func(during func())) {
	t.Helper()
	gang := func(name string) *batch.Job { return e2e.Job(ns, name).Task("worker", 8, e2e.GPUs(1)).Object() }
	ok(t, c.Submit(t.Context(), gang("before")))
	ok(t, c.JobReaches(t.Context(), ns, "before", batch.Running))
	pods := uids(t, c, ns, "before")
	fault(func() { ok(t, c.Submit(t.Context(), gang("during"))) })
	ended := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), recoverWithin)
	defer cancel()
	runs(t, ctx, c, ns, "during")
	ok(t, c.Submit(ctx, gang("after")))
	runs(t, ctx, c, ns, "after")
	t.Logf("recovered %.1f s after the fault", time.Since(ended).Seconds())
	runs(t, ctx, c, ns, "before")
	for uid := range uids(t, c, ns, "before") {
		if !pods[uid] {
			t.Errorf("a pod of the first Job is new, expected those of before: %v", pods)
		}
	}
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
}

// asked skips the test unless outages are asked for: they take minutes, and after one of them other tests may wait.
func asked(t *testing.T) {
	t.Helper()
	if os.Getenv("TEPHRA_OUTAGES") == "" {
		t.Skip("TEPHRA_OUTAGES is not set; hack/test-slow.sh outages sets it")
	}
}

func TestFaultPausedEngine(t *testing.T) {
	asked(t)
	c, ns := on(t)
	survives(t, c, ns, func(during func()) {
		pause(t, c.Engine.Process)
		during()
		time.Sleep(outage)
		ok(t, syscall.Kill(c.Engine.Pid(), syscall.SIGCONT))
	})
}

// between copies bytes between the two sockets, and can stop without closing any connection.
type between struct {
	path, to string
	dead     atomic.Pointer[chan struct{}] // closed: connections of before carry nothing any more
}

func newBetween(t *testing.T, path, to string) *between {
	t.Helper()
	b := &between{path: path, to: to}
	b.renew()
	listener := given[net.Listener](t)(net.Listen("unix", path))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", to)
			if err != nil {
				client.Close()
				continue
			}
			dead := *b.dead.Load()
			var once sync.Once
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					carry(pair[0], pair[1], dead)
					select {
					case <-dead: // both ends see an open connection, until they give it up
					default:
						once.Do(func() { client.Close(); server.Close() })
					}
				}()
			}
		}
	}()
	return b
}

func (b *between) renew() {
	dead := make(chan struct{})
	if before := b.dead.Swap(&dead); before != nil {
		close(*before)
	}
}

func carry(from, to net.Conn, dead chan struct{}) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-dead:
			return
		default:
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// The stream carries nothing any more, and neither end sees it close.
func TestFaultHalfOpenStream(t *testing.T) {
	asked(t)
	c, ns := on(t)
	link := newBetween(t, filepath.Join(c.Dir, "between.sock"), c.Engine.Socket)
	far := *c.Engine
	far.Socket = link.path
	other := given[*e2e.Scheduler](t)(c.NewScheduler("behind-a-link", &far))
	instead(t, c, other)
	ok(t, other.IsReady(t.Context()))
	survives(t, c, ns, func(during func()) {
		link.renew()
		during()
	})
}

// slowAPI is a proxy before the API server that refuses or delays requests.
type slowAPI struct {
	refuse atomic.Bool // two of three requests get 429
	delay  atomic.Int64
	count  atomic.Int64
	said   atomic.Int64 // refused requests
}

func (s *slowAPI) start(t *testing.T, c *e2e.Cluster) (kubeconfig string) {
	t.Helper()
	account := filepath.Join(c.Dir, "scheduler.kubeconfig")
	config, err := clientcmd.LoadFromFile(account)
	ok(t, err)
	var target string
	roots := x509.NewCertPool()
	for _, cluster := range config.Clusters {
		target = cluster.Server
		authority := cluster.CertificateAuthorityData
		if cluster.CertificateAuthority != "" {
			authority = given[[]byte](t)(os.ReadFile(cluster.CertificateAuthority))
		}
		roots.AppendCertsFromPEM(authority)
	}
	to := given[*url.URL](t)(url.Parse(target))
	var token string
	for _, user := range config.AuthInfos {
		token = user.Token
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Set("Authorization", "Bearer "+token) // clients send none without TLS
	},
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 100}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.refuse.Load() && s.count.Add(1)%3 != 0 {
			s.said.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "throttled")
			return
		}
		time.Sleep(time.Duration(s.delay.Load()))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = server.URL, "", nil
	}
	kubeconfig = filepath.Join(c.Dir, strings.ToLower(t.Name())+".kubeconfig")
	ok(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig
}

// behindAPI puts a scheduler of that name behind such a proxy.
func behindAPI(t *testing.T, c *e2e.Cluster, name string) *slowAPI {
	t.Helper()
	var api slowAPI
	other := given[*e2e.Scheduler](t)(c.NewScheduler(name, c.Engine, "--kubeconfig="+api.start(t, c)))
	instead(t, c, other)
	ok(t, other.IsReady(t.Context()))
	return &api
}

func TestFaultThrottledAPI(t *testing.T) {
	asked(t)
	c, ns := on(t)
	api := behindAPI(t, c, "throttled")
	survives(t, c, ns, func(during func()) {
		api.refuse.Store(true)
		during()
		time.Sleep(outage)
		api.refuse.Store(false)
	})
	if api.said.Load() == 0 {
		t.Error("no request was refused")
	}
}

func TestFaultSlowAPI(t *testing.T) {
	asked(t)
	c, ns := on(t)
	api := behindAPI(t, c, "slow")
	survives(t, c, ns, func(during func()) {
		api.delay.Store(int64(2 * time.Second))
		during()
		time.Sleep(outage)
		api.delay.Store(0)
	})
}

// The engine goes on without a journal, and has one again when there is room.
func TestFaultFullDisk(t *testing.T) {
	asked(t)
	if os.Geteuid() != 0 {
		t.Skip("only root mounts a small disk")
	}
	c, ns := on(t)
	disk := filepath.Join(c.Dir, "disk")
	ok(t, os.Mkdir(disk, 0o700))
	ok(t, syscall.Mount("none", disk, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { ok(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	engine := given[*e2e.Engine](t)(c.NewEngine("small-disk", fmt.Sprintf("journal: { directory: %q, segment_size: 64Ki, segments: 3 }\n", filepath.Join(disk, "journal"))))
	t.Cleanup(engine.Kill)
	ok(t, engine.Start(t.Context()))
	other := given[*e2e.Scheduler](t)(c.NewScheduler("on-a-small-disk", engine))
	instead(t, c, other)
	ok(t, other.IsReady(t.Context()))
	filler := filepath.Join(disk, "filler")
	survives(t, c, ns, func(during func()) {
		file := given[*os.File](t)(os.Create(filler))
		defer file.Close()
		for size := 4096; ; {
			if _, err := file.Write(make([]byte, size)); err != nil {
				break
			}
		}
		during()
		ok(t, c.JobReaches(t.Context(), ns, "during", batch.Running)) // a full disk stops nothing
		says(t, engine.Process, "No space left on device")
		ok(t, os.Remove(filler))
	})
	// The engine tries again a minute after the first failure.
	ctx, cancel := context.WithTimeout(t.Context(), 2*recoverWithin)
	defer cancel()
	for strings.Count(engine.Said(), "opened a journal segment") < 2 {
		if ctx.Err() != nil {
			t.Fatalf("no journal segment is opened, expected another since there is room:\n%s", engine.Tail(5))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// etcd is set back to a copy of some seconds ago: Jobs of after the copy are gone with it, and their GPUs are free.
func TestFaultRestoredEtcd(t *testing.T) {
	asked(t)
	c, ns := on(t)
	pid := c.Scheduler.Pid()
	folder, copied := filepath.Join(c.Lab.Dir, "etcd"), filepath.Join(c.Dir, "etcd-copy")
	others := func(do func(string)) {
		for name := range c.Lab.Components() {
			if name != "etcd" && name != "kube-apiserver" {
				do(name)
			}
		}
	}
	stopped := func(do func()) {
		ok(t, c.Lab.StopComponent("kube-apiserver"))
		ok(t, c.Lab.StopComponent("etcd"))
		do()
		ok(t, c.Lab.StartComponent(t.Context(), "etcd"))
		ok(t, c.Lab.StartComponent(t.Context(), "kube-apiserver"))
		// They too come back by themselves, but after a pause of up to half a minute that is not ours to test.
		others(func(name string) {
			ok(t, c.Lab.StopComponent(name))
			ok(t, c.Lab.StartComponent(t.Context(), name))
		})
	}
	gang := func(name string) *batch.Job { return e2e.Job(ns, name).Task("worker", 8, e2e.GPUs(1)).Object() }
	submit := func(ctx context.Context, name string) {
		ok(t, e2e.Until(ctx, func(ctx context.Context) error { return c.Submit(ctx, gang(name)) })) // a webhook may still be starting
		runs(t, ctx, c, ns, name)
	}
	submit(t.Context(), "kept")
	pods := uids(t, c, ns, "kept")
	stopped(func() { ok(t, os.CopyFS(copied, os.DirFS(folder))) })
	submit(t.Context(), "lost")
	submit(t.Context(), "lost-too")
	stopped(func() {
		ok(t, os.RemoveAll(folder))
		ok(t, os.CopyFS(folder, os.DirFS(copied)))
	})
	ended := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), recoverWithin)
	defer cancel()
	submit(ctx, "after-1")
	submit(ctx, "after-2")
	submit(ctx, "after-3") // all 32 GPUs: those of the lost Jobs are free
	t.Logf("recovered %.1f s after the fault", time.Since(ended).Seconds())
	for uid := range uids(t, c, ns, "kept") {
		if !pods[uid] {
			t.Errorf("a pod of the first Job is new, expected those of before: %v", pods)
		}
	}
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
	if c.Scheduler.Pid() != pid || !c.Scheduler.Alive() || !c.Engine.Alive() {
		t.Error("the scheduler or the engine ended")
	}
}

package whole

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// client is the way from one process to the API server.
type client struct {
	world  *World
	number int // of the instance
	name   string
	dead   bool // the process was killed: what it waits for never comes
}

var errLost = errors.New("connection reset by peer")

// request is what a path says.
type request struct {
	method, resource, namespace, name, sub string
	query                                  map[string]string
}

func parse(r *http.Request) request {
	out := request{method: r.Method, query: map[string]string{}}
	for key, values := range r.URL.Query() {
		out.query[key] = values[0]
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	parts = parts[2:] // api/v1
	if strings.HasPrefix(r.URL.Path, "/apis/") {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		out.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "", "")
	out.resource, out.name, out.sub = parts[0], parts[1], parts[2]
	return out
}

// RoundTrip implements http.RoundTripper.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	q := parse(r)
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	if q.resource == "events" {
		return answer(http.StatusCreated, body, nil), nil
	}
	w, done := c.world, r.Context().Done()
	if q.resource == "queues" && q.sub == "status" {
		// Volcano writes them one after the other, in the order of a map. Nothing reads them.
		w.mutex.Lock()
		defer w.mutex.Unlock()
		return c.do(q, body, done), nil
	}
	w.mutex.Lock()
	name := c.name + " " + q.method + " " + r.URL.Path
	high := 3 * time.Millisecond
	if w.active(SlowAPI, c.number) != nil {
		high = time.Second
	}
	there, back := w.between(name, 200*time.Microsecond, high), w.between(name, 200*time.Microsecond, high)
	half := func(kind Kind) bool { return w.active(kind, c.number) != nil && w.chance(name+" "+string(kind), 500) }
	loseRequest, loseAnswer, twice := half(LoseRequests), half(LoseAnswers), half(Duplicate) && q.method != http.MethodGet
	throttle, broken := half(Throttle), half(ServerErrors)
	w.mutex.Unlock()

	if !c.travel(there, done) || loseRequest {
		return nil, errLost
	}
	if throttle {
		c.travel(back, done)
		return answer(http.StatusTooManyRequests, statusOf(apierrors.NewTooManyRequests("slow down", 1)), map[string]string{"Retry-After": "1"}), nil
	}
	if broken {
		c.travel(back, done)
		return answer(http.StatusInternalServerError, statusOf(apierrors.NewInternalError(errLost)), nil), nil
	}
	w.mutex.Lock()
	out := c.do(q, body, done)
	if twice {
		out = c.do(q, body, done)
	}
	w.mutex.Unlock()
	if !c.travel(back, done) || loseAnswer {
		return nil, errLost
	}
	return out, nil
}

// travel takes its time; false: what travels is lost. A killed process does not return from here.
func (c *client) travel(delay time.Duration, done <-chan struct{}) bool {
	for wait, lost := delay, false; ; {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-done:
			timer.Stop()
			return false
		}
		c.world.mutex.Lock()
		now, dead := c.world.now(), c.dead
		held, cut := c.world.heldUntil(c), c.world.active(Partition, c.number)
		next := c.world.between(c.name+" again", 1000, 1000_000)
		c.world.mutex.Unlock()
		switch {
		case dead:
			select {}
		case cut != nil:
			wait, lost = cut.At+cut.For-now+next, true
		case held > 0:
			wait = held - now + next
		default:
			return !lost
		}
	}
}

// do is what the API server does. REQUIRES: the lock is held.
func (c *client) do(q request, body []byte, done <-chan struct{}) *http.Response {
	_, known := kept[q.resource]
	switch {
	case q.method == http.MethodGet && q.name == "" && c.world.active(Compact, -1) != nil:
		return failure(apierrors.NewServiceUnavailable("the watch cache is not ready"))
	case q.method == http.MethodGet && q.name == "" && q.query["watch"] != "":
		return c.watch(q, done)
	case q.method == http.MethodGet && q.name == "":
		return c.list(q)
	case !known:
		return failure(apierrors.NewNotFound(groupResource("pods"), q.resource+"/"+q.name))
	case q.method == http.MethodGet:
		if found := c.world.api.objects[keyOf(q.resource, q.namespace, q.name)]; found != nil {
			return answer(http.StatusOK, found.raw, nil)
		}
		return failure(apierrors.NewNotFound(groupResource(q.resource), q.name))
	}
	object, err := c.write(q, body)
	if err != nil {
		return failure(err)
	}
	raw, _ := json.Marshal(object)
	return answer(http.StatusOK, raw, nil)
}

func (c *client) write(q request, body []byte) (runtime.Object, *apierrors.StatusError) {
	api := c.world.api
	if q.sub == "binding" {
		binding := &core.Binding{}
		if err := json.Unmarshal(body, binding); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		key := keyOf("pods", q.namespace, q.name)
		err := api.bind(key, binding)
		if err == nil {
			c.world.laws.bound(c, key)
		}
		return &metav1.Status{Status: metav1.StatusSuccess}, err
	}
	if q.method == http.MethodDelete {
		options := metav1.DeleteOptions{}
		_ = json.Unmarshal(body, &options)
		return api.remove(q.resource, keyOf(q.resource, q.namespace, q.name), options)
	}
	object := kept[q.resource].make()
	if err := json.Unmarshal(body, object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if q.namespace != "" {
		accessor(object).SetNamespace(q.namespace)
	}
	if q.method == http.MethodPost {
		out, err := api.create(q.resource, object)
		return out, c.leases(out, err)
	}
	if q.method != http.MethodPut {
		c.world.breaks("model", "%s %s %s is not modelled", q.method, q.resource, q.sub)
	}
	out, err := api.update(q.resource, object, q.sub == "status")
	return out, c.leases(out, err)
}

func (c *client) list(q request) *http.Response {
	api := c.world.api
	revision, objects := api.revision, api.objects
	if f := c.world.active(StaleLists, c.number); f != nil && q.query["resourceVersion"] == "0" {
		since := c.world.now() - time.Duration(1+f.Value%5)*time.Second
		revision = max(api.compacted, 1)
		for _, change := range api.history {
			if change.at <= since {
				revision = change.revision
			}
		}
		objects = api.at(revision)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"metadata":{"resourceVersion":"%d"},"items":[`, revision)
	first := true
	for _, key := range sortedKeys(objects) {
		if !strings.HasPrefix(key, q.resource+"/") {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.Write(objects[key].raw)
	}
	out.WriteString("]}")
	return answer(http.StatusOK, out.Bytes(), nil)
}

func (c *client) watch(q request, done <-chan struct{}) *http.Response {
	api := c.world.api
	from, _ := strconv.ParseUint(q.query["resourceVersion"], 10, 64)
	w := &watcher{world: c.world, client: c, resource: q.resource, stream: newStream(done)}
	if from < api.compacted {
		w.stream.write(tooOld())
		w.stream.end()
	} else {
		for _, change := range api.history {
			if change.revision > from {
				w.offer(change)
			}
		}
		api.watches = append(api.watches, w)
	}
	out := answer(http.StatusOK, nil, nil)
	out.Body = w.stream
	return out
}

func statusOf(err *apierrors.StatusError) []byte {
	s := err.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	raw, _ := json.Marshal(s)
	return raw
}

func failure(err *apierrors.StatusError) *http.Response {
	return answer(int(err.Status().Code), statusOf(err), nil)
}

func answer(code int, body []byte, headers map[string]string) *http.Response {
	out := &http.Response{StatusCode: code, Status: http.StatusText(code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	for key, value := range headers {
		out.Header.Set(key, value)
	}
	return out
}

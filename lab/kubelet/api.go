package kubelet

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// API is the part of an API server that a node plugin asks: pods, as a list in pages and as a watch,
// over TLS, for one token.
type API struct {
	URL    string
	CA     string // a file
	Token  string // a file
	server *httptest.Server

	mutex   sync.Mutex
	changed *sync.Cond
	pods    map[types.UID]*core.Pod
	events  []metav1.WatchEvent // those after version `forgot`
	forgot  int
	version int
	token   string
	down    bool
	lists   int
	cut     int // raised to end all watches
}

// StartAPI keeps its files in dir.
func StartAPI(dir string) (*API, error) {
	a := &API{
		CA: filepath.Join(dir, "ca.crt"), Token: filepath.Join(dir, "token"),
		pods: map[types.UID]*core.Pod{}, version: 1, forgot: 1,
	}
	a.changed = sync.NewCond(&a.mutex)
	routes := http.NewServeMux()
	routes.HandleFunc("GET /api/v1/pods", a.serve)
	a.server = httptest.NewTLSServer(routes)
	a.URL = a.server.URL
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	if err := os.WriteFile(a.CA, certificate, 0o600); err != nil {
		return nil, err
	}
	return a, a.Rotate("first")
}

// Rotate replaces the token, as the kubelet does it: the old one is refused from now on.
func (a *API) Rotate(token string) error {
	fresh := a.Token + ".new"
	if err := os.WriteFile(fresh, []byte(token+"\n"), 0o600); err != nil {
		return err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.token = token
	return os.Rename(fresh, a.Token)
}

// Stop ends it, where it is one of StartAPI.
func (a *API) Stop() {
	if a.server == nil {
		return
	}
	a.Cut(true)
	a.server.CloseClientConnections()
	a.server.Close()
}

// Cut ends all watches; with `forget`, none of them can go on where it was.
func (a *API) Cut(forget bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if forget {
		a.events, a.forgot = nil, a.version
	}
	a.cut++
	a.changed.Broadcast()
}

// Down makes it refuse everything, or no more.
func (a *API) Down(down bool) {
	a.mutex.Lock()
	a.down = down
	a.mutex.Unlock()
	if down {
		a.Cut(false)
	}
}

// Put adds or changes a pod.
func (a *API) Put(pod *core.Pod) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	kind := "MODIFIED"
	if a.pods[pod.UID] == nil {
		kind = "ADDED"
	}
	a.pods[pod.UID] = pod.DeepCopy()
	a.tell(kind, a.pods[pod.UID])
}

// Delete takes a pod away.
func (a *API) Delete(uid types.UID) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if pod := a.pods[uid]; pod != nil {
		delete(a.pods, uid)
		a.tell("DELETED", pod)
	}
}

func (a *API) tell(kind string, pod *core.Pod) {
	a.version++
	pod.ResourceVersion = strconv.Itoa(a.version)
	raw, err := json.Marshal(pod)
	if err != nil {
		panic(err)
	}
	event := metav1.WatchEvent{Type: kind}
	event.Object.Raw = raw
	a.events = append(a.events, event)
	a.changed.Broadcast()
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Code: int32(code), Message: message})
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	a.mutex.Lock()
	token, down := a.token, a.down
	a.mutex.Unlock()
	switch {
	case down:
		refuse(w, http.StatusServiceUnavailable, "down")
	case r.Header.Get("Authorization") != "Bearer "+token:
		refuse(w, http.StatusUnauthorized, "Unauthorized")
	case !strings.HasPrefix(r.FormValue("fieldSelector")+",", "spec.nodeName="+NodeName+","):
		refuse(w, http.StatusForbidden, "pods of other nodes")
	case r.FormValue("watch") != "":
		a.watch(w, r)
	default:
		a.list(w, r)
	}
}

func (a *API) list(w http.ResponseWriter, r *http.Request) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.lists++
	list := core.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}}
	_, more, _ := strings.Cut(r.FormValue("fieldSelector"), ",")
	// Pages are in the order of UIDs; "continue" is the first UID of the next page.
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		pod := a.pods[uid]
		if more != "" && more != "metadata.namespace="+pod.Namespace+",metadata.name="+pod.Name || string(uid) < r.FormValue("continue") {
			continue
		}
		if limit > 0 && len(list.Items) == limit {
			list.Continue = string(uid)
			break
		}
		list.Items = append(list.Items, *pod)
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (a *API) watch(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.Atoi(r.FormValue("resourceVersion"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-r.Context().Done():
			a.changed.Broadcast()
		case <-ended:
		}
	}()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	cut := a.cut
	for a.cut == cut && r.Context().Err() == nil {
		if from < a.forgot {
			_, _ = fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}}`)
			return
		}
		for ; from < a.version; from++ {
			line, _ := json.Marshal(a.events[from-a.forgot])
			a.mutex.Unlock()
			_, err := w.Write(append(line, '\n'))
			w.(http.Flusher).Flush()
			a.mutex.Lock()
			if err != nil || from < a.forgot {
				return
			}
		}
		if from == a.version {
			w.(http.Flusher).Flush()
			a.changed.Wait()
		}
	}
}

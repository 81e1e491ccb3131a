package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"tephra.sh/volcano/tephrav1"
)

// The role of pods that name none.
const memberRole = "member"

// made is a pod as it will be made.
type made struct {
	pod   *corev1.Pod
	shape *shape
}

// present are the group's pods by name, without those that go before anyone decided about them.
func (g *group) present() []*pod {
	var out []*pod
	for _, p := range g.pods {
		if p.obj.DeletionTimestamp == nil || p.obj.Spec.NodeName != "" {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.obj.Name, b.obj.Name), cmp.Compare(a.uid, b.uid))
	})
	return out
}

// --- before the pods are there -------------------------------------------------------------

// rolesByJob reads the task templates of the Volcano Job.
func (f *Feed) rolesByJob(g *group, job *batchv1alpha1.Job) ([]*tephrav1.Role, *Problem) {
	roles := []*tephrav1.Role{}
	least := minTask(g.obj)
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		pod := podOf(job, task)
		if !f.ours(pod.Spec.SchedulerName) {
			return nil, nil
		}
		shape, wrong := f.translator.shapeOf(pod, nil)
		if wrong != nil {
			problem := wrong.in(fmt.Sprintf("spec.tasks[%d].template", i)).of(
				Object{"Job", job.Namespace, job.Name, string(job.UID)}, string(g.obj.UID))
			return nil, &problem
		}
		g.templates = append(g.templates, made{pod, shape})
		roles = append(roles, &tephrav1.Role{Name: taskName(task), Replicas: task.Replicas,
			Min: least[task.Name], Pod: shape.pod})
	}
	return roles, nil
}

func taskName(task *batchv1alpha1.TaskSpec) string {
	return cmp.Or(task.Name, batchv1alpha1.DefaultTaskSpec)
}

// podOf is a pod as the job controller and the API server will make it from the task's template,
// as far as scheduling goes. Admission may change more; what it did is read from the pods.
func podOf(job *batchv1alpha1.Job, task *batchv1alpha1.TaskSpec) *corev1.Pod {
	template := task.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = job.Namespace, job.Name+"-"+taskName(task)
	pod.UID = ""
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, job.Spec.SchedulerName)
	for i, volume := range job.Spec.Volumes {
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume.VolumeClaimName}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "job-" + strconv.Itoa(i),
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[batchv1alpha1.JobNameKey] = job.Name
	pod.Labels[batchv1alpha1.JobNamespaceKey] = job.Namespace
	pod.Labels[batchv1alpha1.TaskSpecKey] = taskName(task)
	pod.Labels[batchv1alpha1.QueueNameKey] = job.Spec.Queue
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			setDefaults(&containers[i], pod.Spec.HostNetwork)
		}
	}
	return pod
}

// setDefaults are those of the API server.
func setDefaults(container *corev1.Container, hostNetwork bool) {
	for name, limit := range container.Resources.Limits {
		if _, given := container.Resources.Requests[name]; !given {
			if container.Resources.Requests == nil {
				container.Resources.Requests = corev1.ResourceList{}
			}
			container.Resources.Requests[name] = limit
		}
	}
	for i := range container.Ports {
		if hostNetwork && container.Ports[i].HostPort == 0 {
			container.Ports[i].HostPort = container.Ports[i].ContainerPort
		}
	}
}

// rolesByResources guesses the pods of a group that no Volcano Job owns: like the first one that
// is there, or an equal part of its minimum resources each.
func (f *Feed) rolesByResources(g *group, present []*pod) ([]*tephrav1.Role, *Problem) {
	count := g.obj.Spec.MinMember
	if count <= 0 {
		return nil, nil
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.obj.Namespace, Name: g.obj.Name}}
	object, field, on := groupObject(g.obj), "spec.minResources", (*tephrav1.Node)(nil)
	if g.obj.Spec.MinResources != nil {
		pod.Spec.Containers = []corev1.Container{{Name: memberRole,
			Resources: part(*g.obj.Spec.MinResources, int64(count))}}
	} else if len(present) > 0 {
		pod, object, field, on = present[0].obj, present[0].object(), "", f.nodeOf(present[0])
	}
	shape, wrong := f.translator.shapeOf(pod, on)
	if wrong != nil {
		if field != "" {
			wrong = wrong.in(field)
		}
		problem := wrong.of(object, string(g.obj.UID))
		return nil, &problem
	}
	g.templates = []made{{pod, shape}}
	return []*tephrav1.Role{{Name: memberRole, Replicas: count, Pod: shape.pod}}, nil
}

// part is one of `count` equal parts, rounded up to what can be asked for.
func part(sum corev1.ResourceList, count int64) corev1.ResourceRequirements {
	each := corev1.ResourceList{}
	for name, quantity := range sum {
		if strings.Contains(string(name), "requests.") || strings.Contains(string(name), "limits.") ||
			strings.HasPrefix(string(name), "count/") || name == corev1.ResourcePods {
			continue // the words of quotas, which repeat what is said without them
		}
		if name == corev1.ResourceCPU {
			each[name] = *resource.NewMilliQuantity((quantity.MilliValue()+count-1)/count, quantity.Format)
		} else {
			each[name] = *resource.NewQuantity((quantity.Value()+count-1)/count, quantity.Format)
		}
	}
	return corev1.ResourceRequirements{Requests: each, Limits: each}
}

// --- from the pods -------------------------------------------------------------------------

// rolesByPods gives every pod that is there its place. Pods of one role that differ in shape become
// roles of their own, "worker#2" and so on; what a Job has still to make is like the first.
func (f *Feed) rolesByPods(g *group, job *batchv1alpha1.Job, present []*pod) ([]*tephrav1.Role, *Problem) {
	var order []string
	replicas := map[string]int32{}
	if job != nil {
		for i := range job.Spec.Tasks {
			name := taskName(&job.Spec.Tasks[i])
			order = append(order, name)
			replicas[name] = job.Spec.Tasks[i].Replicas
		}
	}
	byRole := map[string][]*pod{}
	for _, p := range present {
		if p.wrong != nil {
			problem := p.wrong.of(p.object(), string(g.obj.UID))
			return nil, &problem
		}
		byRole[p.role()] = append(byRole[p.role()], p)
	}
	for _, name := range sortedKeys(byRole) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	least := minTask(g.obj)
	g.roles = map[slot]*pod{}
	var roles []*tephrav1.Role
	var sum int32
	for _, name := range order {
		if len(byRole[name]) == 0 && replicas[name] == 0 {
			continue
		}
		made, problem := f.rolesOfOneName(g, job, name, replicas[name], least[name], byRole[name])
		if problem != nil {
			return nil, problem
		}
		for _, role := range made {
			sum += role.Replicas
		}
		roles = append(roles, made...)
	}
	if len(roles) == 0 {
		return nil, nil
	}
	// The engine takes no job that could never start; places without a pod do not ask.
	if missing := g.obj.Spec.MinMember - sum; missing > 0 {
		roles[0].Replicas += missing
	}
	return roles, nil
}

func (f *Feed) rolesOfOneName(g *group, job *batchv1alpha1.Job, name string, replicas, least int32,
	pods []*pod) ([]*tephrav1.Role, *Problem) {
	var shapes []*shape
	byShape := map[*shape][]*pod{}
	var over []*pod // whatever they were, they ask for nothing any more
	for _, p := range pods {
		if ended(p.obj) {
			over = append(over, p)
			continue
		}
		if byShape[p.shape] == nil {
			shapes = append(shapes, p.shape)
		}
		byShape[p.shape] = append(byShape[p.shape], p)
	}
	if len(over) > 0 {
		if len(shapes) == 0 {
			shapes = append(shapes, over[0].shape)
		}
		byShape[shapes[0]] = append(byShape[shapes[0]], over...)
	}
	if len(shapes) == 0 {
		template := podOf(job, taskNamed(job, name))
		shape, wrong := f.translator.shapeOf(template, nil)
		if wrong != nil {
			problem := wrong.in("spec.tasks["+name+"].template").of(
				Object{"Job", job.Namespace, job.Name, string(job.UID)}, string(g.obj.UID))
			return nil, &problem
		}
		g.templates = append(g.templates, made{template, shape})
		shapes = append(shapes, shape)
	}
	var roles []*tephrav1.Role
	for i, shape := range shapes {
		role := &tephrav1.Role{Name: name, Pod: shape.pod}
		if i > 0 {
			role.Name = fmt.Sprintf("%s#%d", name, i+1)
		}
		numbered := max(replicas, int32(len(pods)))
		if i > 0 {
			numbered = 0
		}
		role.Replicas = g.place(role.Name, byShape[shape], numbered)
		roles = append(roles, role)
	}
	first := roles[0]
	first.Replicas = max(first.Replicas, replicas-int32(len(pods)-len(byShape[shapes[0]])))
	for _, role := range roles {
		role.Min = min(least, role.Replicas)
		least -= role.Min
	}
	first.Replicas += least
	first.Min += least
	return roles, nil
}

func taskNamed(job *batchv1alpha1.Job, name string) *batchv1alpha1.TaskSpec {
	at := slices.IndexFunc(job.Spec.Tasks, func(task batchv1alpha1.TaskSpec) bool {
		return taskName(&task) == name
	})
	return &job.Spec.Tasks[at]
}

// place gives the pods indexes in the role and returns how many places that takes. A pod keeps
// the one it had; a new one gets that of its annotation if that is below `numbered`, or else the
// lowest free.
func (g *group) place(role string, pods []*pod, numbered int32) int32 {
	seat := func(p *pod, index int32) bool {
		at := slot{role, index}
		if g.roles[at] != nil {
			return false
		}
		g.roles[at] = p
		p.slot, p.placed = at, true
		return true
	}
	var standing []*pod
	for _, p := range pods {
		if !p.placed || p.slot.role != role || !seat(p, p.slot.index) {
			standing = append(standing, p)
		}
	}
	var rest []*pod
	for _, p := range standing {
		index, given := p.index()
		if !given || index >= numbered || !seat(p, index) {
			rest = append(rest, p)
		}
	}
	next := int32(0)
	for _, p := range rest {
		for !seat(p, next) {
			next++
		}
	}
	var most int32
	for _, p := range pods {
		most = max(most, p.slot.index+1)
	}
	return most
}

// role is the name of the task template that the pod was made from.
func (p *pod) role() string {
	return cmp.Or(p.obj.Annotations[batchv1alpha1.TaskSpecKey], p.obj.Labels[batchv1alpha1.TaskSpecKey],
		memberRole)
}

func (p *pod) index() (int32, bool) {
	text := cmp.Or(p.obj.Annotations[batchv1alpha1.TaskIndex], p.obj.Labels[batchv1alpha1.TaskIndex])
	index, err := strconv.ParseInt(text, 10, 32)
	return int32(index), err == nil && index >= 0
}

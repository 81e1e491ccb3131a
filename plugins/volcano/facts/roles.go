package facts

import (
	"cmp"
	"fmt"
	"maps"
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

// present are the group's pods by name, without pods that were deleted before they were placed.
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

// gangByJob reads the task templates of the Volcano Job.
func (f *Feed) gangByJob(g *group, sub subGroups, job *batchv1alpha1.Job) (*tephrav1.Gang, *Problem) {
	gang := &tephrav1.Gang{MinMember: g.obj.Spec.MinMember}
	least := minTask(g.obj)
	parts := map[string]part{}
	if !f.oursByJob(job) {
		return nil, nil
	}
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		pod := podOf(job, task)
		shape, wrong := f.translator.shapeOf(pod, nil)
		if wrong != nil {
			problem := wrong.in(fmt.Sprintf("spec.tasks[%d].template", i)).of(
				jobObject(job), string(g.obj.UID))
			return nil, &problem
		}
		g.templates = append(g.templates, made{pod, shape})
		order, pods := sub.partsOf(task)
		for _, of := range order {
			name := sub.role(of)
			parts[name] = of
			gang.Roles = append(gang.Roles, &tephrav1.Role{Name: name, Replicas: pods[of], Min: least[task.Name], Pod: shape.pod})
		}
	}
	sub.fill(gang, parts, nil, least)
	return gang, nil
}

// oursByJob: all pods of the Job will be for our scheduler.
func (f *Feed) oursByJob(job *batchv1alpha1.Job) bool {
	for i := range job.Spec.Tasks {
		if !f.ours(cmp.Or(job.Spec.Tasks[i].Template.Spec.SchedulerName, job.Spec.SchedulerName)) {
			return false
		}
	}
	return true
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

// gangByResources guesses the pods of a group that no Volcano Job owns: like the first one that
// is there, or an equal part of its minimum resources each.
func (f *Feed) gangByResources(g *group, present []*pod) (*tephrav1.Gang, *Problem) {
	count := g.obj.Spec.MinMember
	if count <= 0 {
		return nil, nil
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.obj.Namespace, Name: g.obj.Name}}
	object, field, on := groupObject(g.obj), "spec.minResources", (*tephrav1.Node)(nil)
	if g.obj.Spec.MinResources != nil {
		pod.Spec.Containers = []corev1.Container{{Name: memberRole,
			Resources: shareOf(*g.obj.Spec.MinResources, int64(count))}}
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
	return &tephrav1.Gang{MinMember: count, Roles: []*tephrav1.Role{{Name: memberRole, Replicas: count, Pod: shape.pod}}}, nil
}

// shareOf is one of `count` equal parts, rounded up to what can be asked for.
func shareOf(sum corev1.ResourceList, count int64) corev1.ResourceRequirements {
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

// gangByPods gives every pod that is there its place. Pods of one role that differ in shape become
// roles of their own, "worker#2" and so on; what a Job has still to make is like the first. If the gang
// does not need all of them, these roles are a group, whose minimum counts any of the pods.
func (f *Feed) gangByPods(g *group, sub subGroups, job *batchv1alpha1.Job, present []*pod) (*tephrav1.Gang, *Problem) {
	var order []part
	replicas := map[part]int32{}
	tasks := &jobTasks{job: job, byName: map[string]*batchv1alpha1.TaskSpec{}, made: map[string]made{}}
	if job != nil {
		for i := range job.Spec.Tasks {
			of, pods := sub.partsOf(&job.Spec.Tasks[i])
			order = append(order, of...)
			maps.Copy(replicas, pods)
			tasks.byName[taskName(&job.Spec.Tasks[i])] = &job.Spec.Tasks[i]
		}
	}
	byPart := map[part][]*pod{}
	begun := map[part]bool{}
	for _, p := range present {
		if p.wrong != nil {
			problem := p.wrong.of(p.object(), string(g.obj.UID))
			return nil, &problem
		}
		of := sub.ofPod(p)
		byPart[of] = append(byPart[of], p)
		begun[of] = begun[of] || p.obj.Spec.NodeName != ""
	}
	var others []part
	for of := range byPart {
		if _, ofJob := replicas[of]; !ofJob {
			others = append(others, of)
		}
	}
	slices.SortFunc(others, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.policy, b.policy), compareValues(a.values, b.values))
	})
	least := minTask(g.obj)
	g.roles = map[slot]*pod{}
	gang := &tephrav1.Gang{MinMember: g.obj.Spec.MinMember}
	parts := map[string]part{}
	var sum int32
	for _, of := range append(order, others...) {
		if len(byPart[of]) == 0 && replicas[of] == 0 {
			continue
		}
		made, problem := f.rolesOfPart(g, sub, tasks, of, replicas[of], least[of.task], byPart[of])
		if problem != nil {
			return nil, problem
		}
		var pods int32
		for _, role := range made {
			pods += role.Replicas
			parts[role.Name] = of
		}
		sum += pods
		// Any so many of unlike pods will do.
		if count := least[of.task]; of.policy < 0 && len(made) > 1 && count > 0 && count < pods && !sub.names(of.task) {
			for _, role := range made {
				role.Group, role.Min = of.task, 0
			}
			gang.Groups = append(gang.Groups, &tephrav1.Group{Name: of.task, MinMember: count})
		}
		gang.Roles = append(gang.Roles, made...)
	}
	if len(gang.Roles) == 0 {
		return nil, nil
	}
	// The engine takes no job that could never start; places without a pod do not ask.
	if missing := g.obj.Spec.MinMember - sum; missing > 0 {
		gang.Roles[0].Replicas += missing
	}
	sub.fill(gang, parts, begun, least)
	return gang, nil
}

func (f *Feed) rolesOfPart(g *group, sub subGroups, tasks *jobTasks, of part, replicas, least int32,
	pods []*pod) ([]*tephrav1.Role, *Problem) {
	name := sub.role(of)
	if of.policy >= 0 {
		least = 0 // its sub-group has a size
	}
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
		template, problem := f.templateOf(g, tasks, of.task)
		if problem != nil {
			return nil, problem
		}
		shapes = append(shapes, template.shape)
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
		role.Replicas = g.place(role.Name, byShape[shape], numbered, sub.index)
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

// jobTasks are the tasks of a group's Job while its gang is read; job is nil where it has none.
type jobTasks struct {
	job    *batchv1alpha1.Job
	byName map[string]*batchv1alpha1.TaskSpec
	made   map[string]made // one for each task, however many partitions have no pod yet
}

// templateOf is the pod that the task's next pod will be like. REQUIRES: the Job has the task.
func (f *Feed) templateOf(g *group, tasks *jobTasks, task string) (made, *Problem) {
	if known, ok := tasks.made[task]; ok {
		return known, nil
	}
	pod := podOf(tasks.job, tasks.byName[task])
	shape, wrong := f.translator.shapeOf(pod, nil)
	if wrong != nil {
		problem := wrong.in("spec.tasks["+task+"].template").of(jobObject(tasks.job), string(g.obj.UID))
		return made{}, &problem
	}
	tasks.made[task] = made{pod, shape}
	g.templates = append(g.templates, tasks.made[task])
	return tasks.made[task], nil
}

// place gives the pods indexes in the role and returns how many places that takes. A pod keeps
// the one it had; a new one gets that which it says itself if that is below `numbered`, or else the
// lowest free.
func (g *group) place(role string, pods []*pod, numbered int32, says func(*pod) (int32, bool)) int32 {
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
		index, given := says(p)
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

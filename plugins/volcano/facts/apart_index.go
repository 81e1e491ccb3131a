package facts

// index puts the member into the set of the key, or takes it out.
func index[T comparable](sets map[string]map[T]bool, key string, member T, in bool) {
	switch set := sets[key]; {
	case !in:
		if delete(set, member); len(set) == 0 {
			delete(sets, key)
		}
	case set == nil:
		sets[key] = map[T]bool{member: true}
	default:
		set[member] = true
	}
}

// indexTerm does the same with the term in each of its namespaces.
func (a *apart) indexTerm(living *livingTerm, in bool) {
	if len(living.namespaces) == 0 {
		index(a.termsOf, "", living, in)
	}
	for _, namespace := range living.namespaces {
		index(a.termsOf, namespace, living, in)
	}
}

// eachKin visits the kins that the term may match.
func (a *apart) eachKin(term *antiTerm, visit func(*kin)) {
	if len(term.namespaces) == 0 {
		for _, k := range a.kins {
			visit(k)
		}
	}
	for _, namespace := range term.namespaces {
		for k := range a.kinsOf[namespace] {
			visit(k)
		}
	}
}

// eachTerm visits the terms that may match pods of the namespace.
func (a *apart) eachTerm(namespace string, visit func(*livingTerm)) {
	for _, set := range []map[*livingTerm]bool{a.termsOf[""], a.termsOf[namespace]} {
		for living := range set {
			visit(living)
		}
	}
}

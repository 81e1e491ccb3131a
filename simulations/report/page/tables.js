// Tables. A click on a heading sorts by that column; the search box filters rows.

// columns: [{title, get: row => value, text: value => shown, kind: 'number'|'long'|'name', look: value => class}]
// settings: {title, note, filter: row => text to look in, sort: column, down}
class Table {
  constructor(host, columns, rows, settings = {}) {
    Object.assign(this, {columns, rows, settings});
    this.sorted = settings.sort ?? -1;
    this.down = settings.down ?? true;
    this.word = '';
    const bar = element('div.bar');
    if (settings.title) bar.append(settings.title instanceof Node ? settings.title : element('h3', settings.title));
    if (settings.note) bar.append(element('p.note', settings.note));
    if (settings.filter && rows.length > 10) bar.append(element('span.right', this.filterBox()));
    this.body = element('tbody');
    this.heads = columns.map((column, c) => this.head(column, c));
    const table = element('table', element('thead', element('tr', ...this.heads)), this.body);
    host.append(element('div.table', bar.childNodes.length > 0 ? bar : null, element('div.scroll', table)));
    this.fill();
  }

  head(column, c) {
    const button = element('button', column.title);
    button.addEventListener('click', () => {
      this.down = this.sorted === c ? !this.down : column.kind === 'number';
      this.sorted = c;
      this.fill();
    });
    const head = element(column.kind === 'number' ? 'th.number' : 'th', button);
    head.scope = 'col';
    return head;
  }

  filterBox() {
    const box = element('input');
    box.type = 'search';
    box.placeholder = 'Filter: job, queue, reason';
    box.setAttribute('aria-label', 'Show only rows with this word');
    box.addEventListener('input', () => {
      this.word = box.value.toLowerCase();
      this.fill();
    });
    return box;
  }

  fill() {
    let rows = this.rows;
    if (this.word) rows = rows.filter(row => this.settings.filter(row).toLowerCase().includes(this.word));
    if (this.sorted >= 0) {
      const {get} = this.columns[this.sorted];
      const sign = this.down ? -1 : 1;
      rows = [...rows].sort((a, b) => {
        const [x, y] = [get(a), get(b)];
        if (typeof x === 'string') return sign * x.localeCompare(y, 'en', {numeric: true});
        if (x === null || y === null) return (x === null) - (y === null);  // missing values come last
        return sign * (x - y);
      });
    }
    this.heads.forEach((head, c) => {
      head.ariaSort = c === this.sorted ? (this.down ? 'descending' : 'ascending') : 'none';
    });
    this.body.replaceChildren(...rows.map(row => element('tr', ...this.columns.map(column => this.cell(column, row)))));
  }

  cell(column, row) {
    const value = column.get(row);
    const text = column.text ? column.text(value) : String(value);
    const look = column.look ? column.look(value) : '';
    const cell = element('td' + (column.kind ? '.' + column.kind : '') + (look ? '.' + look : ''), text);
    if (column.kind === 'name') cell.title = text;
    return cell;
  }
}

const numberColumn = (title, get, text = number) => ({title, get, text, kind: 'number'});

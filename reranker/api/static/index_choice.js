// Choosing the index: lists the engine's own, shows the fields and examples of one that Sinkrank did not make.
import { engineExamples, serviceExamples, showExamples } from "./examples.js";
import { chosenFields, readFields, showFields } from "./fields.js";
import { addIndices, isOurs, otherIndices } from "./indices.js";

const at = (id) => document.getElementById(id);

export class IndexChoice {
  constructor(form, onTry, onChange) {
    this.form = form;
    this.onTry = onTry;
    this.said = { list: "", fields: "" };
    this.engine = document.body.dataset.engine; // "", "open" or "secured"
    this.fields = new Map(); // by index: those that were read
    at("sign-in").addEventListener("click", async () => {
      const before = this.index;
      await this.list();
      if (this.index !== before) onChange(); // the first of a list is chosen by itself
    });
  }

  get index() {
    return this.form.elements.index.value;
  }

  get isOurs() {
    return isOurs(this.form.elements.index, this.index);
  }

  // Lists the engine's others, where nobody has to sign in for them; `wanted` is that of a link. A search of an index of
  // ours need not wait for the list.
  async start(wanted) {
    const select = this.form.elements.index;
    const isThere = [...select.options].some((option) => option.value === wanted);
    if (this.engine && wanted && !isThere) addIndices(select, [wanted].filter(isName));
    at("index-choice").hidden = select.options.length === 0;
    if (this.engine === "secured") this.say("The engine asks who you are before it lists its other indices.", true);
    if (this.engine !== "open") return;
    const listing = this.list();
    if (select.options.length === 0) await listing;
  }

  async list() {
    try {
      const select = this.form.elements.index;
      addIndices(select, await otherIndices(select));
      const isEmpty = select.options.length === 0;
      this.say(isEmpty ? "The engine shows you no index yet. Make one with: sinkrank ingest FILE --index NAME" : "", false);
      at("index-choice").hidden = isEmpty;
    } catch (error) {
      const byName = "One that you may read opens by its name: add ?index=NAME to the address of this page.";
      this.say(`The engine’s other indices cannot be listed. ${error.message} ${byName}`, error.status === 401);
    }
  }

  say(text, mayTry) {
    this.tell("list", text);
    at("sign-in").hidden = !mayTry;
  }

  // `about`: list or fields.
  tell(about, text) {
    this.said[about] = text;
    const told = Object.values(this.said).filter(Boolean).join(" ");
    at("engine-says").textContent = told;
    at("engine-note").hidden = told === "";
  }

  // Another index is chosen; `given`: fields of a link.
  async changed(given = []) {
    const { index } = this;
    at("examples").hidden = true;
    const isForeign = index !== "" && !this.isOurs;
    at("fields").hidden = true;
    this.tell("fields", "");
    this.form.elements.first_stage.disabled = isForeign;
    if (!isForeign) {
      if (index !== "") this.offer(index, serviceExamples(index));
      return;
    }
    try {
      const fields = this.fields.get(index) ?? (await readFields(index));
      this.fields.set(index, fields);
      if (this.index !== index) return; // another was chosen meanwhile
      showFields(at("field-list"), fields, given);
      at("fields").hidden = fields.length === 0;
      this.offer(index, engineExamples(index, fields.filter(({ isMain }) => isMain).map(({ name }) => name)));
    } catch (error) {
      if (this.index === index) this.tell("fields", `The fields of ${index} cannot be read: all are searched. ${error.message}`);
    }
  }

  // Shows queries to try when they are there, if they are still those of the chosen index.
  async offer(index, found) {
    const examples = await found.catch(() => []);
    if (this.index === index) showExamples(at("examples"), examples, this.onTry);
  }

  get hasMoreFields() {
    return !at("fields").hidden && at("field-list").querySelector("[name=field]:not(:checked)") !== null;
  }

  // As the engine writes them; none for an index of ours.
  chosen() {
    return this.isOurs || at("fields").hidden ? [] : chosenFields(at("field-list"));
  }
}

// No pattern, list or path: a link chooses an index, and nothing else of the engine.
function isName(name) {
  return /^[^\s_+\-\\/*?"<>|,#.][^\s\\/*?"<>|,#]{0,254}$/u.test(name);
}

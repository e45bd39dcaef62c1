// SPDX-License-Identifier: Apache-2.0
// From a run file's `model:` section to a model: chains, graphs by `from:`, shared layers, models within models.
#include "base/text.h"
#include "model/core.h"
#include "model/run_file.h"
#include "strata/precision.h"

namespace strata {

namespace {

struct InputSection {
  std::vector<std::int64_t> shape = {-1};
  DType dtype = DType::float32;
  static Schema schema() {
    return Schema("input", "An input of the model.")
        .arg("shape", &InputSection::shape, "Its shape without the batch axis.", at_least(0))
        .arg("dtype", &InputSection::dtype, "What the model takes.");
  }
};

struct ModelSection {
  Config inputs = {}, layers = {}, outputs = {};
  std::string name = {};
  static Schema schema() {
    return Schema("model", "The network.")
        .arg("inputs", &ModelSection::inputs, "Inputs by name: {image: {shape: [28, 28, 1]}}.")
        .arg("layers", &ModelSection::layers, "Layers, each taking the one above or what `from:` names.")
        .arg("outputs", &ModelSection::outputs,
             "Names of the layers whose results are the outputs; the last layer when not given.")
        .arg("name", &ModelSection::name, "The model's name.");
  }
};

class Reading {
 public:
  explicit Reading(Mistakes& mistakes) : mistakes_(mistakes) {}

  // Where each layer stands, by path, once the model has given all of them names.
  void places(const Topology& topology, const std::string& prefix, std::map<std::string, Where>& by_path) const {
    for (const auto& call : topology.calls) {
      if (const auto it = places_.find(call.layer.identity()); it != places_.end())
        by_path.emplace(prefix + call.name, it->second);
      if (const auto* inner = call.layer.get_if<Nested>()) places(*inner->topology, prefix + call.name + "/", by_path);
    }
  }

  std::optional<Model> model(const Config& section, const std::string& name) {
    ModelSection read;
    const std::size_t before = mistakes_.count();
    schema_of<ModelSection>().read(&read, section, mistakes_);
    if (mistakes_.count() != before) return {};
    std::vector<std::pair<std::string, Symbol>> inputs;
    const auto* map = read.inputs.map();
    if (!map || map->empty()) {
      mistakes_.add(section.where, "model needs 'inputs': a map of names, each with a shape");
      return {};
    }
    std::map<std::string, Symbol> known;
    std::optional<Symbol> last;
    for (const auto& [input_name, config] : *map) {
      InputSection in;
      schema_of<InputSection>().read(&in, config, mistakes_);
      if (mistakes_.count() != before) continue;
      const Symbol symbol = input(Shape(in.shape), input_name, in.dtype);
      inputs.emplace_back(input_name, symbol);
      known[input_name] = symbol;
      last = symbol;
    }
    if (map->size() != 1) last.reset();  // several: the first layer must say which
    if (mistakes_.count() != before) return {};
    const auto end = chain(read.layers, known, last, section.where);
    const auto outputs = named_outputs(read.outputs, known, end);
    if (mistakes_.count() != before || outputs.empty()) return {};
    try {
      return from_pairs(inputs, outputs, name);
    } catch (const Error& error) {
      mistakes_.add(section.where, error.what());
      return {};
    }
  }

 private:
  static Model from_pairs(const std::vector<std::pair<std::string, Symbol>>& inputs,
                          const std::vector<std::pair<std::string, Symbol>>& outputs, const std::string& name) {
    Symbols in, out;
    for (const auto& [_, symbol] : inputs) in.push_back(symbol);
    for (const auto& [_, symbol] : outputs) out.push_back(symbol);
    return Model(in, out, name);
  }

  std::optional<Symbol> chain(const Config& layers, std::map<std::string, Symbol>& known, std::optional<Symbol> last,
                              const Where& where) {
    const auto* list = layers.list();
    if (!list || list->empty()) {
      mistakes_.add(layers.is_null() ? where : layers.where, "model needs 'layers': a list");
      return {};
    }
    std::map<std::string, Layer> by_name;
    for (const Config& entry : *list) last = layer(entry, known, by_name, last);
    return last;
  }

  std::optional<Symbol> layer(const Config& entry, std::map<std::string, Symbol>& known,
                              std::map<std::string, Layer>& by_name, std::optional<Symbol> last) {
    const std::size_t before = mistakes_.count();
    Config from, own = entry;
    Layer made;
    if (const Config* shared = entry.find("share")) {
      // {share: name, from: x}: the layer again, with its weights.
      if (const Config* given = entry.find("from")) from = *given;
      for (const auto& [key, value] : *entry.map())
        if (key != "share" && key != "from")
          mistakes_.add(value.key, cat("a shared layer has 'share' and 'from' only, not '", key, "'"));
      std::vector<std::string> names;
      for (const auto& [name, _] : by_name) names.push_back(name);
      const auto it = shared->text() ? by_name.find(*shared->text()) : by_name.end();
      if (it == by_name.end())
        mistakes_.add(shared->where, cat("there is no layer named ", to_text(*shared), " above to share",
                                         shared->text() ? did_you_mean(*shared->text(), names) : ""));
      else made = it->second;
    } else {
      if (entry.map() && entry.map()->size() == 1) {
        const auto& [word, args] = entry.map()->front();
        if (const Config* given = args.find("from")) {
          from = *given;
          Config rest(Config::Map{}, args.where);
          rest.key = args.key;
          for (const auto& [key, value] : *args.map())
            if (key != "from") rest.set_entry(key, value);
          own = Config(Config::Map{{word, rest}}, entry.where);
          own.data = Config::Map{{word, rest}};
        }
        if (word == "Sequential" || word == "Functional") made = nested(word, own.map()->front().second);
      }
      if (!made && mistakes_.count() == before) made = parts<Layer>().read(own, "layer", mistakes_);
    }
    if (!made || mistakes_.count() != before) return last;
    try {
      places_.emplace(made.identity(), entry.where);
      check_common(made.common(), own);
      if (!made.common().name.empty()) by_name.emplace(made.common().name, made);
      Symbols inputs = sources(from, known, last, entry.where);
      if (mistakes_.count() != before) return last;
      const Symbol result = inputs | made;
      if (!made.common().name.empty()) {
        if (!entry.find("share") && known.count(made.common().name))
          mistakes_.add(entry.where, cat("the name '", made.common().name, "' is taken; give this layer another"));
        known[made.common().name] = result;
      }
      return result;
    } catch (const Error& error) {
      mistakes_.add(entry.where, error.what());
      return last;
    }
  }

  // What the common arguments' own schema cannot know.
  void check_common(const LayerCommon& common, const Config& entry) {
    auto where = [&](const char* word) {
      const Config* args = entry.map() && entry.map()->size() == 1 ? &entry.map()->front().second : nullptr;
      const Config* said = args ? args->find(word) : nullptr;
      return said ? said->where : entry.where;
    };
    if (common.name.find('/') != std::string::npos)
      mistakes_.add(where("name"), cat("layer: 'name' cannot contain '/', which separates paths, got ", common.name));
    try {
      if (!common.dtype.empty()) (void)precision_named(common.dtype);
    } catch (const Error& error) {
      mistakes_.add(where("dtype"), cat("layer: 'dtype': ", error.what()));
    }
  }

  Layer nested(const std::string& word, const Config& args) {
    ModelSection read;
    const std::size_t before = mistakes_.count();
    schema_of<ModelSection>().read(&read, args, mistakes_);
    if (mistakes_.count() != before) return {};
    std::vector<std::pair<std::string, Symbol>> inputs;
    std::map<std::string, Symbol> known;
    std::optional<Symbol> last;
    if (word == "Sequential") {
      last = input({}, "input");
      inputs.emplace_back("input", *last);
    } else if (const auto* map = read.inputs.map()) {
      for (const auto& [name, _] : *map) {
        inputs.emplace_back(name, input({}, name));
        known[name] = inputs.back().second;
        last = inputs.size() == 1 ? std::optional(inputs.back().second) : std::nullopt;
      }
    } else {
      mistakes_.add(args.where, "Functional needs 'inputs': a map of names");
      return {};
    }
    const auto end = chain(read.layers, known, last, args.where);
    const auto outputs = named_outputs(read.outputs, known, end);
    if (mistakes_.count() != before || outputs.empty()) return {};
    return Layer(Nested{make_topology(inputs, outputs, read.name, word == "Sequential")},
                 LayerCommon{.name = read.name});
  }

  Symbols sources(const Config& from, const std::map<std::string, Symbol>& known, const std::optional<Symbol>& last,
                  const Where& where, const char* word = "from") {
    if (from.is_null()) {
      if (!last)
        mistakes_.add(where, "the model has several inputs: the first layer must say which it takes, as in from: name");
      return last ? Symbols{*last} : Symbols{};
    }
    Symbols symbols;
    std::vector<std::string> names;
    for (const auto& [name, _] : known) names.push_back(name);
    auto one = [&](const Config& config) {
      const auto it = config.text() ? known.find(*config.text()) : known.end();
      if (it == known.end())
        mistakes_.add(config.where, cat("'", word, "' names ", to_text(config), ", but nothing above has that name",
                                        config.text() ? did_you_mean(*config.text(), names) : "",
                                        names.empty() ? "" : "; named are " + listed(names)));
      else symbols.push_back(it->second);
    };
    if (const auto* list = from.list())
      for (const Config& item : *list) one(item);
    else one(from);
    return symbols;
  }

  std::vector<std::pair<std::string, Symbol>> named_outputs(const Config& outputs,
                                                            const std::map<std::string, Symbol>& known,
                                                            const std::optional<Symbol>& last) {
    std::vector<std::pair<std::string, Symbol>> result;
    if (outputs.is_null()) {
      if (last) result.emplace_back("", *last);
      return result;
    }
    for (const Symbol& symbol : sources(outputs, known, last, outputs.where, "outputs"))
      result.emplace_back("", symbol);
    return result;
  }

  Mistakes& mistakes_;
  std::map<const void*, Where> places_;  // by the layer's identity
};

}  // namespace

std::optional<Model> read_model(const Config& section, const std::string& name, Mistakes& mistakes,
                                std::map<std::string, Where>& places) {
  Reading reading(mistakes);
  auto model = reading.model(section, name);
  if (model) reading.places(*model->core().topology, "", places);
  return model;
}

}  // namespace strata

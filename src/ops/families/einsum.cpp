// Sums of products by names of axes, in Einstein's notation: a composite over diagonals, sums, products of
// pairs and one transposition. The pair that is multiplied first is the one whose product takes the fewest
// names, then leaves the fewest: names and not sizes decide, so that no bit of the result depends on which
// sizes are known when the program is compiled.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ops/contraction.h"
#include "ops/families/compose.h"

namespace ig::ops {

std::vector<Op> einsum_composites();

namespace {

constexpr Attr<std::string> kSubscripts{
    "subscripts", "A letter for each axis, a comma between arrays, then -> and the axes of the result."};

// An axis by its letter; those of an ellipsis count down from -1, the last axis first.
using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

std::string shown(int label) { return label < 0 ? "..." : std::string(1, static_cast<char>(label)); }

bool contains(const Labels& labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

// The equation for operands of these ranks; `fail(message, why, hint)` does not return.
template <typename Fail>
Equation parse(std::string text, std::span<const int> ranks, Fail&& fail) {
  std::erase(text, ' ');
  const std::string form = "write as in \"ij,jk->ik\" or \"...ij,jk->...ik\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ',') continue;
    if (text.substr(i, 3) == "...") {
      i += 2;
    } else if (text.substr(i, 2) == "->") {
      i += 1;
    } else {
      fail(fmt::format("the subscripts \"{}\" hold '{}'", text, c),
           "an axis is named by one letter, several by an ellipsis", form);
    }
  }
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> parts{""};
  for (char c : left) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (parts.size() != ranks.size())
    fail(fmt::format("the subscripts \"{}\" are of {} arrays, got {}", text, parts.size(), ranks.size()),
         "there is a list of letters for each array, with commas between", form);
  Equation out;
  int widest = 0;
  auto labels_of = [&](const std::string& part, int dots) {
    Labels labels;
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '.') {
        labels.push_back(part[i]);
        continue;
      }
      for (int d = dots; d > 0; --d) labels.push_back(-d);
      i += 2;
    }
    return labels;
  };
  for (size_t k = 0; k < parts.size(); ++k) {
    const bool dotted = parts[k].find('.') != std::string::npos;
    if (parts[k].find("...") != parts[k].rfind("..."))
      fail(fmt::format("\"{}\" has two ellipses", parts[k]),
           "the axes that each stands for would not be known", "name the axes of one of them");
    const int named = static_cast<int>(parts[k].size()) - (dotted ? 3 : 0);
    const int dots = ranks[k] - named;
    if (dotted ? dots < 0 : dots != 0)
      fail(fmt::format("\"{}\" names {} axes, but array {} has {}", parts[k], named, k, ranks[k]),
           dotted ? "the ellipsis stands for the axes that no letter names" : "each axis has one letter",
           dotted ? form : "name every axis, or write ... for those that are only carried along");
    widest = std::max(widest, dotted ? dots : 0);
    out.operands.push_back(labels_of(parts[k], dotted ? dots : 0));
  }
  if (arrow == std::string::npos) {
    // What stands once, in alphabetical order, behind the axes of the ellipsis.
    for (int d = widest; d > 0; --d) out.result.push_back(-d);
    std::map<int, int> times;
    for (const Labels& labels : out.operands)
      for (int label : labels)
        if (label >= 0) ++times[label];
    for (auto [label, count] : times)
      if (count == 1) out.result.push_back(label);
    return out;
  }
  const std::string right = text.substr(arrow + 2);
  if (widest > 0 && right.find("...") == std::string::npos)
    fail(fmt::format("the result \"{}\" has no ellipsis, but an array has", right),
         "axes without a name are carried along, never summed", "write ... in the result, or name the axes");
  out.result = labels_of(right, widest);
  std::set<int> seen;
  for (int label : out.result) {
    if (!seen.insert(label).second)
      fail(fmt::format("the axis '{}' of the result is named twice", shown(label)),
           "an axis of the result stands in one place", "leave one of them out");
    if (label >= 0 && std::ranges::none_of(out.operands, [&](const Labels& l) { return contains(l, label); }))
      fail(fmt::format("the axis '{}' of the result is of no array", shown(label)),
           "the result's axes are taken from the arrays", "name it in an array, or leave it out");
  }
  return out;
}

std::vector<int> ranks_of(std::span<const Type> types) {
  std::vector<int> out;
  for (const Type& type : types) out.push_back(type.rank());
  return out;
}

void infer_einsum(InferContext& c) {
  auto refuse = [&](ErrorKind kind) {
    return [&c, kind](const std::string& message, const std::string& why, const std::string& hint) {
      c.fail(kind, message, why, hint);
    };
  };
  if (c.size() == 0)
    refuse(ErrorKind::Value)("there is no array", "a sum of products has at least one",
                             "pass one array for each part of the subscripts");
  for (size_t i = 0; i < c.size(); ++i) {
    c.require_dtype(i, DTypeSet::Numeric);
    c.require_same_dtype(0, i);
  }
  const Equation equation = parse(c.get(kSubscripts), ranks_of(c.operands), refuse(ErrorKind::Value));
  struct Seen {
    Dim size;
    size_t operand;
  };
  std::map<int, Seen> sizes;
  for (size_t k = 0; k < c.size(); ++k)
    for (size_t a = 0; a < equation.operands[k].size(); ++a) {
      const int label = equation.operands[k][a];
      const Dim& size = c.operand(k).dims[a];
      auto [place, fresh] = sizes.try_emplace(label, Seen{size, k});
      Seen& seen = place->second;
      if (fresh || size == Dim(int64_t{1})) continue;
      if (seen.size == Dim(int64_t{1})) {
        seen = {size, k};
        continue;
      }
      if (!c.scope.decide_equal(seen.size, size))
        refuse(ErrorKind::Shape)(fmt::format("the axis '{}' has size {} in array {} and {} in array {}",
                                             shown(label), seen.size.str(), seen.operand, size.str(), k),
                                 "axes of one name are of one size, or of size 1",
                                 "name axes that are not summed together by different letters");
    }
  tools::infer_by_body(c);
}

class Contraction {
 public:
  Contraction(Builder& build, Equation equation, std::span<const Value> operands)
      : m_(build), result_(std::move(equation.result)) {
    for (size_t k = 0; k < operands.size(); ++k)
      terms_.push_back({operands[k], std::move(equation.operands[k])});
  }

  Value run() {
    for (Term& term : terms_) {
      drop_ones(term);
      take_diagonals(term);
    }
    for (size_t k = 0; k < terms_.size(); ++k) sum_own(k);
    while (terms_.size() > 1) {
      auto [i, j] = next_pair();
      const std::set<int> keep = needed(i, j);
      Term product = multiply(terms_[i], terms_[j], keep, order_after(i, j, keep));
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(j));
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(i));
      terms_.push_back(std::move(product));
    }
    return in_order(terms_[0]);
  }

 private:
  struct Term {
    Value value;
    Labels labels;
  };

  Dim size_of_label(int label) const {
    Dim out = int64_t{1};
    for (const Term& term : terms_)
      for (size_t a = 0; a < term.labels.size(); ++a)
        if (term.labels[a] == label && !(term.value->type().dims[a] == Dim(int64_t{1})))
          return term.value->type().dims[a];
    return out;
  }
  // An axis of size 1 whose name has another size elsewhere is the same for all of that size.
  void drop_ones(Term& term) {
    Dims dims;
    Labels labels;
    for (size_t a = 0; a < term.labels.size(); ++a) {
      const Dim& size = term.value->type().dims[a];
      if (size == Dim(int64_t{1}) && !(size_of_label(term.labels[a]) == Dim(int64_t{1}))) continue;
      dims.push_back(size);
      labels.push_back(term.labels[a]);
    }
    if (labels.size() == term.labels.size()) return;
    term = {m_.b.reshape(term.value, dims), std::move(labels)};
  }

  void take_diagonals(Term& term) {
    for (size_t a = 0; a < term.labels.size(); ++a)
      for (size_t b = a + 1; b < term.labels.size(); ++b) {
        if (term.labels[a] != term.labels[b]) continue;
        Labels rest;
        for (size_t i = 0; i < term.labels.size(); ++i) {
          if (i != a && i != b) rest.push_back(term.labels[i]);
        }
        rest.push_back(term.labels[a]);
        term = {m_.b("diagonal", {term.value},
                     {{"axis1", static_cast<int64_t>(a)}, {"axis2", static_cast<int64_t>(b)}}),
                std::move(rest)};
        return take_diagonals(term);
      }
  }

  // Names that terms other than these two, or the result, have.
  std::set<int> needed(size_t i, size_t j) const {
    std::set<int> out(result_.begin(), result_.end());
    for (size_t k = 0; k < terms_.size(); ++k)
      if (k != i && k != j) out.insert(terms_[k].labels.begin(), terms_[k].labels.end());
    return out;
  }

  void sum_own(size_t k) {
    const std::set<int> keep = needed(k, k);
    Ints axes;
    Labels labels;
    for (size_t a = 0; a < terms_[k].labels.size(); ++a) {
      if (keep.contains(terms_[k].labels[a]))
        labels.push_back(terms_[k].labels[a]);
      else
        axes.push_back(static_cast<int64_t>(a));
    }
    if (!axes.empty()) terms_[k] = {m_.sum(terms_[k].value, axes), std::move(labels)};
  }

  std::pair<size_t, size_t> next_pair() const {
    std::pair<size_t, size_t> best;
    std::pair<size_t, size_t> least{SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < terms_.size(); ++i)
      for (size_t j = i + 1; j < terms_.size(); ++j) {
        std::set<int> all(terms_[i].labels.begin(), terms_[i].labels.end());
        all.insert(terms_[j].labels.begin(), terms_[j].labels.end());
        const std::set<int> keep = needed(i, j);
        auto left = static_cast<size_t>(std::ranges::count_if(all, [&](int l) { return keep.contains(l); }));
        const std::pair cost{all.size(), left};
        if (cost < least) least = cost, best = {i, j};
      }
    return best;
  }

  // The order in which the product of these two is wanted: that of a term with all of its axes, which it is
  // multiplied with next, or else the result's.
  Labels order_after(size_t i, size_t j, const std::set<int>& keep) const {
    auto holds_product = [&](size_t k) {
      return std::ranges::all_of(std::array{i, j}, [&](size_t factor) {
        return std::ranges::all_of(terms_[factor].labels, [&](int label) {
          return !keep.contains(label) || contains(terms_[k].labels, label);
        });
      });
    };
    for (size_t k = 0; k < terms_.size(); ++k)
      if (k != i && k != j && holds_product(k)) return terms_[k].labels;
    return result_;
  }

  // The product has the free axes of its first factor before those of the second; so that factor comes second
  // which has the last axis of the wanted order: what is left to transpose then moves whole rows (but not if
  // that makes the rows of the product short). Axes that it has in front of the first factor's are walked one
  // by one, and nothing is left to transpose.
  Term multiply(const Term& x, const Term& y, const std::set<int>& keep, const Labels& order) {
    auto only = [](const Term& a, const Term& b) {
      return [&](int label) { return contains(a.labels, label) && !contains(b.labels, label); };
    };
    const auto last = std::find_if(order.rbegin(), order.rend(), [&](int label) {
      return contains(x.labels, label) || contains(y.labels, label);
    });
    const bool turn = last != order.rend() && only(x, y)(*last);
    const Term &first = turn ? y : x, &second = turn ? x : y;
    Labels leading;
    if (last != order.rend() && only(second, first)(*last))
      std::copy_if(order.begin(), std::ranges::find_if(order, only(first, second)),
                   std::back_inserter(leading), only(second, first));
    Dim row = int64_t{1}, inner = int64_t{1};
    for (int label : second.labels) {
      if (contains(first.labels, label)) continue;
      row = row * size_in(second, label);
      if (!contains(leading, label)) inner = inner * size_in(second, label);
    }
    auto is_short = [](const Dim& d) { return d.is_constant() && d.constant() < 32; };
    if (turn && is_short(row)) return multiply_in_order(x, y, keep);
    return multiply_in_order(is_short(inner) ? first : repeated(first, leading, second), second, keep);
  }

  static Dim size_in(const Term& term, int label) {
    return term.value->type().dims[static_cast<size_t>(place(term, label))];
  }

  // The term for each place along these axes of another one, in front.
  Term repeated(const Term& term, const Labels& names, const Term& other) {
    if (names.empty()) return term;
    Dims dims;
    Ints axes;
    for (int label : names) dims.push_back(size_in(other, label));
    for (const Dim& size : term.value->type().dims) {
      axes.push_back(static_cast<int64_t>(dims.size()));
      dims.push_back(size);
    }
    Labels labels = names;
    labels.insert(labels.end(), term.labels.begin(), term.labels.end());
    return {m_.b.broadcast(term.value, dims, axes), std::move(labels)};
  }

  static int64_t place(const Term& term, int label) {
    return std::ranges::find(term.labels, label) - term.labels.begin();
  }

  Term multiply_in_order(const Term& x, const Term& y, const std::set<int>& keep) {
    Ints x_batch, y_batch, x_sum, y_sum;
    Labels batch, free;
    for (int label : x.labels) {
      const bool both = contains(y.labels, label);
      if (!both) {
        free.push_back(label);
        continue;
      }
      (keep.contains(label) ? x_batch : x_sum).push_back(place(x, label));
      (keep.contains(label) ? y_batch : y_sum).push_back(place(y, label));
      if (keep.contains(label)) batch.push_back(label);
    }
    for (int label : y.labels)
      if (!contains(x.labels, label)) free.push_back(label);
    Labels all = batch;
    all.insert(all.end(), free.begin(), free.end());
    if (x_sum.empty()) return {m_.mul(spread(x, all), spread(y, all)), all};
    Value out = m_.b("dot_general", {x.value, y.value},
                     {kLhsBatch % x_batch, kRhsBatch % y_batch, kLhsContract % x_sum, kRhsContract % y_sum});
    return {out, all};
  }

  // The term with its axes in the order of these names, those that it lacks of size 1.
  Value spread(const Term& term, const Labels& names) {
    Ints order;
    Dims dims;
    for (int label : names) {
      auto at = std::ranges::find(term.labels, label);
      if (at == term.labels.end()) {
        dims.push_back(1);
        continue;
      }
      order.push_back(at - term.labels.begin());
      dims.push_back(term.value->type().dims[static_cast<size_t>(order.back())]);
    }
    return m_.b.reshape(m_.b.transpose(term.value, order), dims);
  }

  Value in_order(const Term& term) { return spread(term, result_); }

  Compose m_;
  Labels result_;
  std::vector<Term> terms_;
};

std::vector<Value> einsum_body(BodyContext& c) {
  std::vector<int> ranks;
  for (Value v : c.operands) ranks.push_back(v->type().rank());
  auto never = [](const std::string& message, const std::string&, const std::string&) {
    IG_CHECK(false, "einsum: {}", message);
  };
  return {Contraction(c.build, parse(c.get(kSubscripts), ranks, never), c.operands).run()};
}

}  // namespace

std::vector<Op> einsum_composites() {
  std::vector<Op> ops;
  auto sample = [](std::string types, const std::string& subscripts) {
    return Sample{std::move(types), "{subscripts = \"" + subscripts + "\"}"};
  };
  std::vector<Sample> samples{
      sample("T[2, 3], T[3, 4]", "ij,jk->ik"),
      sample("T[2, 3], T[3, 4]", "ij,jk"),
      sample("T[2, 3], T[3, 4]", "ij,jk->ki"),
      sample("T[40, 3], T[2, 3]", "ij,kj->ki"),
      sample("T[2, 3, 33], T[4, 3]", "ajk,bj->abk"),
      sample("T[2, 3], T[2, 3]", "ij,ij->"),
      sample("T[2, 3], T[2, 3]", "ij,ij->ij"),
      sample("T[3], T[4]", "i,j->ij"),
      sample("T[2, 3]", "ij->ji"),
      sample("T[2, 3]", "ba"),
      sample("T[2, 3]", "ij->j"),
      sample("T[3, 3]", "ii->i"),
      sample("T[3, 3]", "ii"),
      sample("T[2, 3, 2, 3]", "ijij->ji"),
      sample("T[2, 2, 3], T[2, 3, 4]", "bij,bjk->bik"),
      sample("T[2, 4, 2, 3], T[2, 5, 2, 3]", "bqhd,bkhd->bhqk"),
      sample("T[2, 3, 4], T[4, 5]", "...i,ij->...j"),
      sample("T[2, 1, 3], T[4, 3]", "...i,...i->..."),
      sample("T[2, 3], T[3, 4], T[4, 2]", "ij,jk,kl->il"),
      sample("T[2, 3], T[2, 3], T[3]", "bi,bj,j->b"),
      sample("T[1, 3], T[2, 3]", "ij,ij->i"),
      sample("T[0, 3], T[3, 2]", "ij,jk->ik"),
      sample("T[2, 0], T[0, 2]", "ij,jk->ik"),
      sample("T[], T[3]", ",i->i"),
  };
  for (Sample& s : samples) s.low = -2, s.high = 2;
  ops.push_back(composite(
      {.name = "einsum",
       .python = "einsum",
       .doc = "Sums of products by names of axes. An axis that the result does not name is summed over; the "
              "same\nname twice in one array takes the diagonal; ... stands for any axes, which broadcast. "
              "Without ->\nthe result has the names that stand once, in alphabetical order.",
       .operands = {{.name = "arrays", .doc = "The arrays, of one type.", .variadic = true}},
       .attrs = {kSubscripts},
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.einsum(subscripts, *arrays)",
       .samples = std::move(samples),
       .bad_samples =
           {{"T[2, 3], T[4, 5]", "{subscripts = \"ij,jk->ik\"}",
             "ShapeError: einsum: the axis 'j' has size 3 in array 0 and 4 in array 1"},
            {"T[2, 3]", "{subscripts = \"i->i\"}",
             "ValueError: einsum: \"i\" names 1 axes, but array 0 has 2"},
            {"T[2]", "{subscripts = \"...ij->i\"}",
             "ValueError: einsum: \"...ij\" names 2 axes, but array 0 has 1"},
            {"T[2]", "{subscripts = \"i,j->ij\"}",
             "ValueError: einsum: the subscripts \"i,j->ij\" are of 2 arrays, got 1"},
            {"T[2]", "{subscripts = \"i->ii\"}",
             "ValueError: einsum: the axis 'i' of the result is named twice"},
            {"T[2]", "{subscripts = \"i->ij\"}",
             "ValueError: einsum: the axis 'j' of the result is of no array"},
            {"T[2]", "{subscripts = \"i*->i\"}", "ValueError: einsum: the subscripts \"i*->i\" hold '*'"},
            {"T[2, 3]", "{subscripts = \"...i->i\"}",
             "ValueError: einsum: the result \"i\" has no ellipsis, but an array has"},
            {"T[2, 3]", "{subscripts = \"...i...->i\"}", "ValueError: einsum: \"...i...\" has two ellipses"},
            {"T[2]", "{subscripts = \"..i->i\"}", "ValueError: einsum: the subscripts \"..i->i\" hold '.'"}},
       .ulp = 32,
       .complex_ulp = 32},
      einsum_body, infer_einsum));
  give_examples(ops,
                {{"einsum", "ig.einsum(\"ij,j->i\", ig.asarray([[1, 2], [3, 4]]), ig.asarray([1, 1]))"}});
  return ops;
}

}  // namespace ig::ops

#include "server/http/openapi.h"

#include <set>
#include <utility>

#include "base/text.h"

namespace perjoule {

extern const std::string_view kOpenapiSchemasJson;

namespace {

Json object(std::initializer_list<std::pair<std::string_view, Json>> members) {
  Json json = Json::object();
  for (const auto& [name, value] : members) json[name] = value;
  return json;
}

Json reference(const std::string& schema) {
  return object({{"$ref", "#/components/schemas/" + schema}});
}

Json content(const std::string& type, const std::string& schema) {
  const Json what = schema.empty() ? object({{"type", "string"}}) : reference(schema);
  return object({{type, object({{"schema", what}})}});
}

std::string_view type_of(RouteParameter::Kind kind) {
  switch (kind) {
    case RouteParameter::Kind::kText:
      return "string";
    case RouteParameter::Kind::kInteger:
      return "integer";
    case RouteParameter::Kind::kNumber:
      return "number";
    case RouteParameter::Kind::kBoolean:
      return "boolean";
  }
  return "string";
}

Json parameters_of(const Route& route) {
  Json all = Json::array();
  for (const std::string_view part : split(route.pattern, '/')) {
    if (part.size() < 3 || part.front() != '{') continue;
    all.push_back(object({{"name", part.substr(1, part.size() - 2)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", object({{"type", "string"}})}}));
  }
  for (const RouteParameter& one : route.parameters) {
    all.push_back(object({{"name", one.name},
                          {"in", "query"},
                          {"required", one.required},
                          {"description", one.help},
                          {"schema", object({{"type", type_of(one.kind)}})}}));
  }
  return all;
}

Json answers_of(const Route& route) {
  Json answers = Json::object();
  const std::string type = route.stream ? "text/event-stream" : route.answer_type;
  answers["200"] =
      object({{"description", route.summary}, {"content", content(type, route.answer)}});
  answers["default"] = object({{"description", "what was wrong, and what to do"},
                               {"content", content("application/json", route.error)}});
  return answers;
}

Json operation_of(const Route& route) {
  Json operation = object({{"summary", route.summary}, {"parameters", parameters_of(route)}});
  if (!route.body.empty()) {
    operation["requestBody"] =
        object({{"required", true}, {"content", content("application/json", route.body)}});
  }
  operation["responses"] = answers_of(route);
  operation["security"] = Json::array();
  if (route.role != Role::kNone) {
    operation["security"].push_back(object({{"token", Json::array()}}));
  }
  operation["x-role"] = name_of(route.role);
  return operation;
}

std::string method_key(const std::string& method) {
  std::string key;
  for (const char c : method) key += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return key;
}

Outcome check_schemas(const Route& route, const Json& schemas) {
  for (const std::string& schema : {route.body, route.answer}) {
    if (!schema.empty() && schemas.find(schema) == nullptr) {
      return Error::invalid_argument("no schema is called " + schema + ": " + route.method + " " +
                                     route.pattern);
    }
  }
  return {};
}

}  // namespace

Result<Json> openapi_document(const std::vector<Route>& routes, const Json& schemas,
                              std::string_view version) {
  Json paths = Json::object();
  for (const Route& route : routes) {
    PJ_CHECK(check_schemas(route, schemas));
    Json& methods = paths[route.pattern];
    const std::string key = method_key(route.method);
    if (methods.find(key) != nullptr) {
      return Error::invalid_argument("two routes are " + route.method + " " + route.pattern);
    }
    methods[key] = operation_of(route);
  }
  return object(
      {{"openapi", "3.1.0"},
       {"info",
        object({{"title", "Perjoule"},
                {"version", version},
                {"license", object({{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}})}})},
       {"paths", paths},
       {"components",
        object({{"schemas", schemas},
                {"securitySchemes",
                 object({{"token", object({{"type", "http"}, {"scheme", "bearer"}})}})}})}});
}

const Json& document_schemas() {
  static const auto* const schemas = [] {
    auto parsed = parse_json(kOpenapiSchemasJson);
    return new Json(parsed ? std::move(*parsed) : Json::object());
  }();
  return *schemas;
}

}  // namespace perjoule

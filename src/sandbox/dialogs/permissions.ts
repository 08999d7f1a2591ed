/** All permissions that an app can request, with the text that the dialog shows. */
export const PERMISSIONS: Readonly<Record<string, string>> = {
  public_profile: "See your name",
  email: "See your email address",
  ads_management: "Create and change campaigns, ad sets and ads",
  ads_read: "Read ads and their results",
  business_management: "See which business an asset belongs to",
  whatsapp_business_management: "Manage chat accounts, numbers and templates",
  whatsapp_business_messaging: "Send and receive chat messages",
  pages_show_list: "See the list of your pages",
  pages_messaging: "Send and receive messages of your pages",
  pages_manage_metadata: "Receive notifications about your pages",
  pages_read_engagement: "Read the posts on your pages",
  instagram_basic: "See the photo accounts of your pages",
  instagram_manage_messages: "Send and receive messages of your photo accounts",
  instagram_manage_comments: "Read and answer comments on your photo accounts",
  leads_retrieval: "Read the answers to your lead forms",
};

export const isPermission = (name: string): boolean => Object.hasOwn(PERMISSIONS, name);
